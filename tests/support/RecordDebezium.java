import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.io.PrintStream;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Writes the events of Debezium's embedded engine to files, one as JSON in each line, until each file has the last event.
 *
 * <p>Run: {@code java -cp 'JARS/*' RecordDebezium.java TEXT-OF-THE-LAST-EVENT PROPERTIES OUT [PROPERTIES OUT ...]}.
 */
public class RecordDebezium {
    private static final int SECONDS = 240;

    public static void main(String[] words) throws Exception {
        var threads = Executors.newCachedThreadPool();
        var ended = new CountDownLatch((words.length - 1) / 2);
        for (int number = 1; number < words.length; number += 2) {
            threads.execute(engine(words[number], words[number + 1], words[0], ended));
        }
        System.exit(ended.await(SECONDS, TimeUnit.SECONDS) ? 0 : 1); // nothing is kept, so nothing has to be closed
    }

    private static DebeziumEngine<?> engine(String properties, String path, String last, CountDownLatch ended) throws Exception {
        var settings = new Properties();
        try (Reader file = Files.newBufferedReader(Path.of(properties))) {
            settings.load(file);
        }
        var out = new PrintStream(path, "UTF-8");
        return DebeziumEngine.create(Json.class).using(settings).notifying(event -> write(event, out, last, ended)).build();
    }

    private static void write(ChangeEvent<String, String> event, PrintStream out, String last, CountDownLatch ended) {
        if (event.value() == null) {
            return; // the record of Kafka that has a deleted key compacted
        }
        out.println(event.value());
        out.flush();
        if (event.value().contains(last)) {
            ended.countDown();
        }
    }
}
