import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Objects;
import java.util.logging.LogManager;

/** The steps of a program: each is tried, those that fail are named at the end. Also where the server is. */
final class Steps {
    private static int done;
    private static int failed;

    interface Step {
        void run() throws Exception;
    }

    static void step(String name, Step step) {
        try {
            step.run();
            done++;
        } catch (Throwable error) {
            failed++;
            System.out.println(name + ": " + messages(error));
        }
    }

    /** Ends the program. */
    static void end() {
        System.out.println(failed == 0 ? done + " steps" : failed + " of " + (done + failed) + " steps failed");
        System.exit(failed == 0 ? 0 : 1);
    }

    static void expect(boolean holds, String expected) {
        if (!holds) {
            throw new AssertionError("expected " + expected);
        }
    }

    static void equal(Object found, Object expected, String what) {
        if (!Objects.equals(found, expected)) {
            throw new AssertionError(what + ": found " + found + ", expected " + expected);
        }
    }

    /** The step must end with an error of this kind. */
    static <E extends Throwable> E refused(Class<E> kind, String what, Step step) throws Exception {
        try {
            step.run();
        } catch (Throwable error) {
            if (kind.isInstance(error)) {
                return kind.cast(error);
            }
            throw error;
        }
        throw new AssertionError("expected a refusal of " + what);
    }

    static String url() {
        return "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/"
            + System.getenv("PGDATABASE");
    }

    static String user() {
        return System.getenv("PGUSER");
    }

    static String password() {
        return System.getenv("PGPASSWORD");
    }

    static Connection connect() throws SQLException {
        return DriverManager.getConnection(url(), user(), password());
    }

    /** Libraries that log by java.util.logging keep silent: their errors come as exceptions. */
    static void silence() {
        LogManager.getLogManager().reset();
    }

    /** What the error and its last cause say, on one line. */
    private static String messages(Throwable error) {
        Throwable cause = error;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        String said = cause.getClass().getSimpleName() + " " + cause.getMessage();
        if (cause != error) {
            said += " (" + error.getMessage() + ")";
        }
        said = said.replaceAll("\\s+", " ");
        return said.length() > 2000 ? said.substring(0, 2000) + " ..." : said;
    }
}
