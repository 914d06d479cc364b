#!/usr/bin/env python3
"""Makes the fixtures of the programs that run here, against the DynamoDB in DYNALOCK_ENDPOINT.

    make.py PROGRAM VERSION OUTPUT KEY COMMAND..

KEY has the names and types of the partition key and of the sort key: `customer:S,number:N`. Runs COMMAND with the word `write`, reads the table, and runs COMMAND with the word `change`. Each run gets in ENDPOINT the URL of a
proxy, which passes requests on and records them. The fixture has the items after `write`, and the writes of `change` in their order.
"""

import http.server
import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request

ENDPOINT = os.environ["DYNALOCK_ENDPOINT"]
TABLE = "orders"
HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "Authorization": "AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host, Signature=any",
    "X-Amz-Date": "20260101T000000Z",
}
recorded = []


def send(target, body):
    headers = HEADERS | {"X-Amz-Target": target}
    try:
        with urllib.request.urlopen(urllib.request.Request(ENDPOINT, body, headers)) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read()


def call(operation, body):
    status, answer = send(f"DynamoDB_20120810.{operation}", json.dumps(body).encode())
    assert status == 200, answer
    return json.loads(answer)


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        target = self.headers["X-Amz-Target"]
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status, answer = send(target, body)
        recorded.append((target.split(".")[1], json.loads(body), status))
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def main():
    program, version, output, key, *command = sys.argv[1:]
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    environment = os.environ | {
        "ENDPOINT": f"http://127.0.0.1:{proxy.server_port}",
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "PYTHONHASHSEED": "0",
    }
    keys = [attribute.split(":") for attribute in key.split(",")]
    try:
        call("DeleteTable", {"TableName": TABLE})
    except AssertionError:
        pass  # There was none.
    call(
        "CreateTable",
        {
            "TableName": TABLE,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind} for name, kind in keys],
            "KeySchema": [
                {"AttributeName": name, "KeyType": role} for (name, _), role in zip(keys, ["HASH", "RANGE"])
            ],
        },
    )
    subprocess.run([*command, "write"], env=environment, check=True)
    items = sorted(call("Scan", {"TableName": TABLE})["Items"], key=lambda item: int(item["number"]["N"]))
    recorded.clear()
    subprocess.run([*command, "change"], env=environment, check=True)
    assert all(status == 200 for *_, status in recorded), recorded
    writes = [{"operation": name, **body} for name, body, _ in recorded if name in ("PutItem", "UpdateItem", "DeleteItem")]
    fixture = {"program": program, "version": version, "items": items, "writes": writes}
    with open(output, "w") as file:
        json.dump(fixture, file, indent=2, ensure_ascii=False, sort_keys=True)
        file.write("\n")


main()
