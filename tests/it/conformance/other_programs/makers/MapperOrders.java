import com.amazonaws.auth.AWSStaticCredentialsProvider;
import com.amazonaws.auth.BasicAWSCredentials;
import com.amazonaws.client.builder.AwsClientBuilder.EndpointConfiguration;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDB;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBClientBuilder;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBAttribute;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBDocument;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBHashKey;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBMapper;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBMapperConfig;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBRangeKey;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBTable;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBTypeConvertedEnum;
import com.amazonaws.services.dynamodbv2.datamodeling.DynamoDBVersionAttribute;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** Orders written by DynamoDBMapper. `make.py` runs this with `write` and with `change`. */
public class MapperOrders {
    public enum Status { OPEN, PLACED, SHIPPED, DELIVERED }

    @DynamoDBTable(tableName = "orders")
    public static class Order {
        private String customer;
        private long number;
        private Status status;
        private long total;
        private double weight;
        private boolean paid;
        private String note;
        private Date placedAt;
        private Set<String> tags;
        private Set<Integer> parcels;
        private Address address;
        private List<Line> lines;
        private ByteBuffer receipt;
        private Long version;

        @DynamoDBHashKey
        public String getCustomer() { return customer; }
        public void setCustomer(String customer) { this.customer = customer; }
        @DynamoDBRangeKey
        public long getNumber() { return number; }
        public void setNumber(long number) { this.number = number; }
        @DynamoDBTypeConvertedEnum
        public Status getStatus() { return status; }
        public void setStatus(Status status) { this.status = status; }
        public long getTotal() { return total; }
        public void setTotal(long total) { this.total = total; }
        public double getWeight() { return weight; }
        public void setWeight(double weight) { this.weight = weight; }
        public boolean getPaid() { return paid; }
        public void setPaid(boolean paid) { this.paid = paid; }
        public String getNote() { return note; }
        public void setNote(String note) { this.note = note; }
        public Date getPlacedAt() { return placedAt; }
        public void setPlacedAt(Date placedAt) { this.placedAt = placedAt; }
        public Set<String> getTags() { return tags; }
        public void setTags(Set<String> tags) { this.tags = tags; }
        public Set<Integer> getParcels() { return parcels; }
        public void setParcels(Set<Integer> parcels) { this.parcels = parcels; }
        public Address getAddress() { return address; }
        public void setAddress(Address address) { this.address = address; }
        public List<Line> getLines() { return lines; }
        public void setLines(List<Line> lines) { this.lines = lines; }
        public ByteBuffer getReceipt() { return receipt; }
        public void setReceipt(ByteBuffer receipt) { this.receipt = receipt; }
        @DynamoDBVersionAttribute
        public Long getVersion() { return version; }
        public void setVersion(Long version) { this.version = version; }
    }

    @DynamoDBDocument
    public static class Address {
        private String street;
        private String zip;

        public String getStreet() { return street; }
        public void setStreet(String street) { this.street = street; }
        @DynamoDBAttribute(attributeName = "zip")
        public String getZip() { return zip; }
        public void setZip(String zip) { this.zip = zip; }
    }

    @DynamoDBDocument
    public static class Line {
        private String sku;
        private int quantity;

        public String getSku() { return sku; }
        public void setSku(String sku) { this.sku = sku; }
        public int getQuantity() { return quantity; }
        public void setQuantity(int quantity) { this.quantity = quantity; }
    }

    public static void main(String[] arguments) {
        AmazonDynamoDB client = AmazonDynamoDBClientBuilder.standard()
            .withEndpointConfiguration(new EndpointConfiguration(System.getenv("ENDPOINT"), "us-east-1"))
            .withCredentials(new AWSStaticCredentialsProvider(new BasicAWSCredentials("any", "any")))
            .build();
        DynamoDBMapper orders = new DynamoDBMapper(client);
        if (arguments[0].equals("write")) {
            orders.save(full());
            orders.save(sparse());
        } else {
            Order order = orders.load(Order.class, "alice", 7L);
            order.setStatus(Status.SHIPPED);
            orders.save(order);
            order.setStatus(Status.DELIVERED);
            orders.save(order);
            orders.save(order, DynamoDBMapperConfig.SaveBehavior.PUT.config());
            orders.delete(order);
        }
    }

    private static Order full() {
        Order order = new Order();
        order.setCustomer("alice");
        order.setNumber(7);
        order.setStatus(Status.PLACED);
        order.setTotal(13912);
        order.setWeight(1.5);
        order.setPaid(true);
        order.setNote("Ring twice");
        order.setPlacedAt(Date.from(Instant.parse("2026-03-01T08:26:00Z")));
        order.setTags(new TreeSet<>(Set.of("gift", "fragile")));
        order.setParcels(new TreeSet<>(Set.of(1, 2)));
        Address address = new Address();
        address.setStreet("1 High Street");
        order.setAddress(address);
        Line line = new Line();
        line.setSku("85123A");
        line.setQuantity(6);
        order.setLines(List.of(line));
        order.setReceipt(ByteBuffer.wrap(new byte[] {0, 1, -2, -1}));
        return order;
    }

    private static Order sparse() {
        Order order = new Order();
        order.setCustomer("alice");
        order.setNumber(8);
        order.setStatus(Status.OPEN);
        order.setTotal(2);
        order.setWeight(2.0);
        order.setPlacedAt(Date.from(Instant.parse("2026-03-01T08:26:00.250Z")));
        order.setLines(List.of());
        return order;
    }
}
