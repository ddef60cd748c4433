import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.flywaydb.core.Flyway;
import org.flywaydb.database.postgresql.PostgreSQLConfigurationExtension;

/** Flyway: migrate, validate, info, repair and clean of what clients make in schemas. */
public final class WithFlyway {
    private static Flyway flyway;

    public static void main(String[] arguments) {
        Steps.silence();
        flyway = configured();
        Steps.step("migrate", () -> Steps.equal(flyway.migrate().migrationsExecuted, 4, "migrations"));
        Steps.step("second migrate", () -> Steps.equal(flyway.migrate().migrationsExecuted, 0, "migrations"));
        Steps.step("validate", () -> Steps.expect(flyway.validateWithResult().validationSuccessful, "a valid schema"));
        Steps.step("info", () -> Steps.equal(flyway.info().applied().length, 5, "entries of the history"));
        Steps.step("repair", () -> flyway.repair());
        Steps.step("what the migrations made",
            () -> Steps.equal(number("SELECT twice(count(*)::int) FROM items"), 6, "twice the items"));
        Steps.step("objects of all kinds", WithFlyway::makeObjects);
        Steps.step("materialized view", () -> execute("CREATE MATERIALIZED VIEW kept AS SELECT name FROM item"));
        Steps.step("clean", WithFlyway::clean);
        Steps.step("migrate after clean", () -> Steps.equal(flyway.migrate().migrationsExecuted, 4, "migrations"));
        Steps.end();
    }

    private static Flyway configured() {
        var configuration = Flyway.configure().dataSource(Steps.url(), Steps.user(), Steps.password()).locations("classpath:flyway")
            .schemas("public", "extra").defaultSchema("public").mixed(true).cleanDisabled(false);
        // CREATE INDEX CONCURRENTLY would wait for the transaction of Flyway's lock.
        configuration.getConfigurationExtension(PostgreSQLConfigurationExtension.class).setTransactionalLock(false);
        return configuration.load();
    }

    private static int number(String query) throws SQLException {
        try (Connection connection = Steps.connect(); Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            rows.next();
            return rows.getInt(1);
        }
    }

    private static void execute(String command) throws SQLException {
        try (Connection connection = Steps.connect(); Statement statement = connection.createStatement()) {
            statement.execute(command);
        }
    }

    private static void makeObjects() throws SQLException {
        execute("CREATE TYPE mood AS ENUM ('sad')");
        execute("CREATE DOMAIN small AS int CHECK (value < 100)");
        execute("CREATE SEQUENCE extra.numbers");
        execute("CREATE PROCEDURE nothing() LANGUAGE sql AS 'SELECT 1'");
        execute("CREATE TABLE extra.thing (id int PRIMARY KEY, mood mood, small small)");
        execute("CREATE VIEW extra.things AS SELECT * FROM extra.thing");
        execute("CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'");
    }

    private static void clean() throws SQLException {
        flyway.clean();
        Steps.equal(number("SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            + " WHERE nspname IN ('public', 'extra')"), 0, "relations left");
        Steps.equal(number("SELECT count(*) FROM pg_type WHERE typname IN ('mood', 'small')"), 0, "types left");
    }

    private WithFlyway() {}
}
