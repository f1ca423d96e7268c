import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.io.ObjectOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Reads a part of a binary log by Debezium's embedded engine, whose events as JSON are counted and dropped.
 *
 * <p>Run: {@code java -cp 'JARS/*' TimeDebezium.java PROPERTIES FILE-OF-THE-LOG OFFSET EVENTS}. It prints the seconds from the
 * start of the engine to the last event, and the peak of the process's resident memory in KB.
 */
public class TimeDebezium {
    private static final int MINUTES = 10;

    public static void main(String[] words) throws Exception {
        var settings = new Properties();
        try (var file = Files.newBufferedReader(Path.of(words[0]))) {
            settings.load(file);
        }
        begin(settings, words[1], words[2]);
        var left = new CountDownLatch(Integer.parseInt(words[3]));
        var started = System.nanoTime();
        var engine = DebeziumEngine.create(Json.class).using(settings).notifying(event -> count(event, left)).build();
        Executors.newSingleThreadExecutor().execute(engine);
        var complete = left.await(MINUTES, TimeUnit.MINUTES);
        var seconds = (System.nanoTime() - started) / 1e9;
        var peak = Files.lines(Path.of("/proc/self/status")).filter(line -> line.startsWith("VmHWM")).findFirst().get();
        System.out.println(seconds + " " + peak.replaceAll("\\D", ""));
        System.exit(complete ? 0 : 1); // nothing is kept, so nothing has to be closed
    }

    /** Writes the file of offsets as the engine would have left it at a place in the log. */
    private static void begin(Properties settings, String file, String offset) throws Exception {
        var name = settings.getProperty("name");
        var server = settings.getProperty("topic.prefix");
        var key = String.format("[\"%s\",{\"server\":\"%s\"}]", name, server);
        var value = String.format("{\"file\":\"%s\",\"pos\":%s}", file, offset);
        var offsets = new HashMap<byte[], byte[]>();
        offsets.put(key.getBytes(StandardCharsets.UTF_8), value.getBytes(StandardCharsets.UTF_8));
        var path = Path.of(settings.getProperty("offset.storage.file.filename"));
        try (var out = new ObjectOutputStream(Files.newOutputStream(path))) {
            out.writeObject(offsets);
        }
    }

    private static void count(ChangeEvent<String, String> event, CountDownLatch left) {
        if (event.value() != null && event.value().contains("\"op\"")) {
            left.countDown();
        }
    }
}
