import java.io.OutputStream;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Statement;
import java.util.List;
import java.util.stream.Stream;
import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.Liquibase;
import liquibase.Scope;
import liquibase.UpdateSummaryEnum;
import liquibase.command.CommandScope;
import liquibase.database.Database;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.diff.compare.CompareControl;
import liquibase.resource.ClassLoaderResourceAccessor;
import liquibase.resource.DirectoryResourceAccessor;
import liquibase.ui.LoggerUIService;

/** Liquibase: update, status, tag, rollback, generateChangeLog and diff of the changes in changelog.xml. */
public final class WithLiquibase {
    private static final int CHANGES = 12;
    private static final Contexts ALL = new Contexts();
    private static Database database;
    private static Liquibase liquibase;
    private static Path folder;

    public static void main(String[] arguments) throws Exception {
        Steps.silence();
        System.setProperty("liquibase.analytics.enabled", "false");
        folder = Files.createTempDirectory("liquibase");
        try (Connection connection = Steps.connect(); Statement statement = connection.createStatement()) {
            statement.execute("CREATE SCHEMA copy");
        }
        database = open("public");
        liquibase = new Liquibase("changelog.xml", new ClassLoaderResourceAccessor(), database);
        liquibase.setShowSummary(UpdateSummaryEnum.OFF);
        Scope.child(Scope.Attr.ui.name(), new LoggerUIService(), WithLiquibase::steps);
        Steps.end();
    }

    private static void steps() {
        Steps.step("validate", liquibase::validate);
        Steps.step("status before update", () -> expectUnrun(CHANGES));
        Steps.step("update", () -> liquibase.update(ALL));
        Steps.step("status after update", () -> expectUnrun(0));
        Steps.step("second update", () -> liquibase.update(ALL));
        Steps.step("generateChangeLog", WithLiquibase::generate);
        Steps.step("diff with itself", () -> Steps.expect(areEqual(database, database), "no difference"));
        Steps.step("generated changelog in another schema", WithLiquibase::applyGenerated);
        Steps.step("diff with the other schema", WithLiquibase::diffWithCopy);
        Steps.step("rollback as SQL", WithLiquibase::rollbackAsSql);
        Steps.step("rollback of one change", () -> rollBack(1));
        Steps.step("rollback to a tag", WithLiquibase::rollBackToTag);
        Steps.step("update after rollback", () -> liquibase.update(ALL));
        Steps.step("rollback of all", () -> rollBack(CHANGES));
        Steps.step("update from the start", () -> liquibase.update(ALL));
        Steps.step("dropAll", WithLiquibase::dropAll);
    }

    private static Database open(String schema) throws Exception {
        Database opened = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(Steps.connect()));
        opened.setDefaultSchemaName(schema);
        return opened;
    }

    private static void expectUnrun(int expected) throws Exception {
        Steps.equal(liquibase.listUnrunChangeSets(ALL, new LabelExpression()).size(), expected, "changes to be run");
    }

    private static void rollBack(int changes) throws Exception {
        int before = liquibase.listUnrunChangeSets(ALL, new LabelExpression()).size();
        liquibase.rollback(changes, "");
        expectUnrun(before + changes);
    }

    private static void rollBackToTag() throws Exception {
        liquibase.rollback("checked", "");
        expectUnrun(2);
    }

    private static void rollbackAsSql() throws Exception {
        StringWriter script = new StringWriter();
        liquibase.rollback("checked", (String) null, ALL, script);
        Steps.expect(script.toString().contains("DELETE FROM label"), "a rollback of what came after the tag: " + script);
    }

    /** Writes a changelog that makes what is there, and looks for the kinds of changes in it. */
    private static void generate() throws Exception {
        Path file = folder.resolve("generated.xml");
        CommandScope command = new CommandScope("generateChangelog");
        command.addArgumentValue("changelogFile", file.toString()).addArgumentValue("url", Steps.url());
        command.addArgumentValue("username", Steps.user()).addArgumentValue("password", Steps.password());
        command.setOutput(OutputStream.nullOutputStream());
        command.execute();
        String text = Files.readString(file).replaceAll("\\s+", " ");
        List<String> missing = Stream.of("createTable remarks=\"people's\" tableName=\"person\"", "createTable tableName=\"task\"",
            "createTable tableName=\"label\"", "createView fullDefinition=\"false\" viewName=\"busy\"",
            "createSequence cacheSize=\"10\" cycle=\"true\" dataType=\"integer\" incrementBy=\"5\" maxValue=\"100000\"",
            "createIndex indexName=\"task_title\" tableName=\"task\"", "column descending=\"true\" name=\"title\"",
            "createIndex indexName=\"person_lower\" tableName=\"person\" unique=\"true\"",
            "column computed=\"true\" name=\"lower((name)::text)\"", "(person p JOIN task t ON ((t.person_id = p.id)))",
            "addUniqueConstraint columnNames=\"task_id, id\" constraintName=\"tag_pair\" tableName=\"label\"",
            "constraintName=\"task_person\" deferrable=\"false\" initiallyDeferred=\"false\" onDelete=\"CASCADE\"",
            "constraintName=\"tag_task\" deferrable=\"true\" initiallyDeferred=\"true\" onDelete=\"SET NULL\"",
            "primaryKeyName=\"person_pk\"", "name=\"price\" type=\"numeric(10, 2)\"", "defaultValueDate=\"2020-01-02\"",
            "defaultValueComputed=\"now()\"", "autoIncrement=\"true\" name=\"id\" type=\"BIGINT\"",
            "name=\"hour\" type=\"time(6) WITHOUT TIME ZONE\"", "name=\"tags\" type=\"TEXT[]\"", "remarks=\"the name\"")
            .filter(part -> !text.contains(part)).toList();
        Steps.expect(missing.isEmpty(), missing + " in the changelog:\n" + text);
    }

    private static void applyGenerated() throws Exception {
        Liquibase generated = new Liquibase("generated.xml", new DirectoryResourceAccessor(folder), open("copy"));
        generated.setShowSummary(UpdateSummaryEnum.OFF);
        generated.update(ALL);
    }

    private static boolean areEqual(Database one, Database other) throws Exception {
        return liquibase.diff(one, other, new CompareControl()).areEqual();
    }

    /** The copy lacks a table afterwards, which is all that a diff of tables finds. */
    private static void diffWithCopy() throws Exception {
        try (Connection connection = Steps.connect(); Statement statement = connection.createStatement()) {
            statement.execute("DROP TABLE copy.label");
        }
        Database copy = open("copy");
        var result = liquibase.diff(database, copy, new CompareControl());
        List<String> missing = result.getMissingObjects(liquibase.structure.core.Table.class).stream()
            .map(table -> table.getName()).toList();
        Steps.equal(missing, List.of("label"), "tables that the copy lacks");
    }

    private static void dropAll() throws Exception {
        liquibase.dropAll();
        try (Connection connection = Steps.connect();
                var tables = connection.getMetaData().getTables(null, "public", "%", new String[] {"TABLE", "VIEW", "SEQUENCE"})) {
            Steps.expect(!tables.next(), "nothing left after dropAll");
        }
    }

    private WithLiquibase() {}
}
