import java.net.URI;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.enhanced.dynamodb.DynamoDbEnhancedClient;
import software.amazon.awssdk.enhanced.dynamodb.DynamoDbTable;
import software.amazon.awssdk.enhanced.dynamodb.Key;
import software.amazon.awssdk.enhanced.dynamodb.TableSchema;
import software.amazon.awssdk.enhanced.dynamodb.extensions.annotations.DynamoDbVersionAttribute;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbBean;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbPartitionKey;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbSortKey;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

/** Orders written by the Enhanced Client. `make.py` runs this with `write` and with `change`. */
public class EnhancedClientOrders {
    public enum Status { OPEN, PLACED, SHIPPED, DELIVERED }

    @DynamoDbBean
    public static class Order {
        private String customer;
        private long number;
        private Status status;
        private long total;
        private double weight;
        private boolean paid;
        private String note;
        private Instant placedAt;
        private Set<String> tags;
        private Set<Integer> parcels;
        private Address address;
        private List<Line> lines;
        private SdkBytes receipt;
        private Long version;

        @DynamoDbPartitionKey
        public String getCustomer() { return customer; }
        public void setCustomer(String customer) { this.customer = customer; }
        @DynamoDbSortKey
        public long getNumber() { return number; }
        public void setNumber(long number) { this.number = number; }
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
        public Instant getPlacedAt() { return placedAt; }
        public void setPlacedAt(Instant placedAt) { this.placedAt = placedAt; }
        public Set<String> getTags() { return tags; }
        public void setTags(Set<String> tags) { this.tags = tags; }
        public Set<Integer> getParcels() { return parcels; }
        public void setParcels(Set<Integer> parcels) { this.parcels = parcels; }
        public Address getAddress() { return address; }
        public void setAddress(Address address) { this.address = address; }
        public List<Line> getLines() { return lines; }
        public void setLines(List<Line> lines) { this.lines = lines; }
        public SdkBytes getReceipt() { return receipt; }
        public void setReceipt(SdkBytes receipt) { this.receipt = receipt; }
        @DynamoDbVersionAttribute
        public Long getVersion() { return version; }
        public void setVersion(Long version) { this.version = version; }
    }

    @DynamoDbBean
    public static class Address {
        private String street;
        private String zip;

        public String getStreet() { return street; }
        public void setStreet(String street) { this.street = street; }
        public String getZip() { return zip; }
        public void setZip(String zip) { this.zip = zip; }
    }

    @DynamoDbBean
    public static class Line {
        private String sku;
        private int quantity;

        public String getSku() { return sku; }
        public void setSku(String sku) { this.sku = sku; }
        public int getQuantity() { return quantity; }
        public void setQuantity(int quantity) { this.quantity = quantity; }
    }

    public static void main(String[] arguments) {
        DynamoDbClient client = DynamoDbClient.builder()
            .endpointOverride(URI.create(System.getenv("ENDPOINT")))
            .region(Region.US_EAST_1)
            .httpClient(UrlConnectionHttpClient.create())
            .build();
        DynamoDbEnhancedClient enhanced = DynamoDbEnhancedClient.builder().dynamoDbClient(client).build();
        DynamoDbTable<Order> orders = enhanced.table("orders", TableSchema.fromBean(Order.class));
        if (arguments[0].equals("write")) {
            orders.putItem(full());
            orders.updateItem(sparse());
        } else {
            Key key = Key.builder().partitionValue("alice").sortValue(7).build();
            Order order = orders.getItem(key);
            order.setStatus(Status.SHIPPED);
            order = orders.updateItem(order);
            order.setStatus(Status.DELIVERED);
            order = orders.updateItem(order);
            orders.putItem(order);
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
        order.setPlacedAt(Instant.parse("2026-03-01T08:26:00Z"));
        order.setTags(new TreeSet<>(Set.of("gift", "fragile")));
        order.setParcels(new TreeSet<>(Set.of(1, 2)));
        Address address = new Address();
        address.setStreet("1 High Street");
        order.setAddress(address);
        Line line = new Line();
        line.setSku("85123A");
        line.setQuantity(6);
        order.setLines(List.of(line));
        order.setReceipt(SdkBytes.fromByteArray(new byte[] {0, 1, -2, -1}));
        return order;
    }

    private static Order sparse() {
        Order order = new Order();
        order.setCustomer("alice");
        order.setNumber(8);
        order.setStatus(Status.OPEN);
        order.setTotal(2);
        order.setWeight(2.0);
        order.setPlacedAt(Instant.parse("2026-03-01T08:26:00.250Z"));
        order.setLines(List.of());
        return order;
    }
}
