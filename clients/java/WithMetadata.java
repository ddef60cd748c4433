import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ParameterMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;

/** pgjdbc's DatabaseMetaData: each call on the schema of metadata.sql gives what it gives on PostgreSQL. */
public final class WithMetadata {
    private static DatabaseMetaData data;

    public static void main(String[] arguments) throws Exception {
        try (Connection connection = Steps.connect()) {
            data = connection.getMetaData();
            makeSchema(connection);
            Steps.step("getSchemas", WithMetadata::schemas);
            Steps.step("getCatalogs", WithMetadata::catalogs);
            Steps.step("getTableTypes", WithMetadata::tableTypes);
            Steps.step("getTables", WithMetadata::tables);
            Steps.step("getTables of the catalog", WithMetadata::catalogTables);
            Steps.step("getColumns", WithMetadata::columns);
            Steps.step("getColumns: types", WithMetadata::columnTypes);
            Steps.step("getColumns of a materialized view", WithMetadata::keptColumns);
            Steps.step("getColumns of addresses", WithMetadata::addressColumns);
            Steps.step("getPrimaryKeys", WithMetadata::primaryKeys);
            Steps.step("getImportedKeys", WithMetadata::importedKeys);
            Steps.step("getExportedKeys", WithMetadata::exportedKeys);
            Steps.step("getCrossReference", WithMetadata::crossReference);
            Steps.step("getIndexInfo", WithMetadata::indexes);
            Steps.step("getIndexInfo of unique indexes", WithMetadata::uniqueIndexes);
            Steps.step("getBestRowIdentifier", WithMetadata::bestRow);
            Steps.step("getVersionColumns", WithMetadata::versionColumns);
            Steps.step("getTypeInfo", WithMetadata::typeInfo);
            Steps.step("getUDTs", WithMetadata::userTypes);
            Steps.step("getProcedures", WithMetadata::procedures);
            Steps.step("getProcedureColumns", WithMetadata::procedureColumns);
            Steps.step("getFunctions", WithMetadata::functions);
            Steps.step("getFunctionColumns", WithMetadata::functionColumns);
            Steps.step("getTablePrivileges", WithMetadata::tablePrivileges);
            Steps.step("getColumnPrivileges", WithMetadata::columnPrivileges);
            Steps.step("getClientInfoProperties", WithMetadata::clientInfo);
            Steps.step("names of functions and keywords", WithMetadata::words);
            Steps.step("limits", WithMetadata::limits);
            Steps.step("calls that pgjdbc lacks", WithMetadata::lacking);
            Steps.step("ResultSetMetaData", () -> resultColumns(connection));
            Steps.step("ParameterMetaData", () -> parameters(connection));
            Steps.step("updatable result set", () -> updatable(connection));
        }
        Steps.end();
    }

    private static void makeSchema(Connection connection) throws Exception {
        String script;
        try (InputStream stream = WithMetadata.class.getResourceAsStream("/metadata.sql")) {
            script = new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        }
        try (Statement statement = connection.createStatement()) {
            for (String part : script.split(";\n")) {
                Steps.step(part.strip(), () -> statement.execute(part));
            }
        }
    }

    /** Compares these columns of all rows, a line for each row. Numbers that each server chooses are left out. */
    private static void expect(ResultSet found, String columns, String expected) throws SQLException {
        compare(lines(found, columns), expected);
    }

    private static List<String> lines(ResultSet found, String columns) throws SQLException {
        List<String> lines = new ArrayList<>();
        try (found) {
            while (found.next()) {
                List<String> values = new ArrayList<>();
                for (String column : columns.split(" ")) {
                    String value = String.valueOf(found.getString(column)).replaceAll("\\s+", " ");
                    value = value.equals(Steps.user()) ? "owner" : value;
                    values.add(column.equals("SPECIFIC_NAME") ? value.replaceAll("_\\d+$", "") : value);
                }
                lines.add(String.join(" | ", values));
            }
        }
        return lines;
    }

    /** As {@link #expect}, where the driver leaves the order of equal rows to the server. */
    private static void expectAnyOrder(ResultSet found, String columns, String expected) throws SQLException {
        List<String> lines = lines(found, columns);
        lines.sort(null);
        compare(lines, expected);
    }

    private static void compare(List<String> lines, String expected) {
        List<String> wanted = expected.isEmpty() ? List.of() : List.of(expected.split("\n"));
        List<String> missing = new ArrayList<>(wanted);
        List<String> extra = new ArrayList<>(lines);
        missing.removeAll(lines);
        extra.removeAll(wanted);
        Steps.expect(missing.isEmpty() && extra.isEmpty(), missing + "; found " + extra);
        Steps.equal(lines, wanted, "order of rows");
    }

    private static void schemas() throws SQLException {
        expect(data.getSchemas(), "TABLE_SCHEM", """
            information_schema
            pg_catalog
            public
            shop""");
        expect(data.getSchemas(null, "sh%"), "TABLE_SCHEM", """
            shop""");
    }

    private static void catalogs() throws SQLException {
        List<String> names = new ArrayList<>();
        try (ResultSet found = data.getCatalogs()) {
            while (found.next()) {
                names.add(found.getString("TABLE_CAT"));
            }
        }
        Steps.expect(names.contains(System.getenv("PGDATABASE")), "the database among " + names);
    }

    private static void tableTypes() throws SQLException {
        expect(data.getTableTypes(), "TABLE_TYPE", """
            FOREIGN TABLE
            INDEX
            MATERIALIZED VIEW
            PARTITIONED INDEX
            PARTITIONED TABLE
            SEQUENCE
            SYSTEM INDEX
            SYSTEM TABLE
            SYSTEM TOAST INDEX
            SYSTEM TOAST TABLE
            SYSTEM VIEW
            TABLE
            TEMPORARY INDEX
            TEMPORARY SEQUENCE
            TEMPORARY TABLE
            TEMPORARY VIEW
            TYPE
            VIEW""");
    }

    private static void tables() throws SQLException {
        expect(data.getTables(null, "shop", "%", null), "TABLE_TYPE TABLE_NAME REMARKS", """
            INDEX | item_code | null
            INDEX | item_pk | null
            INDEX | item_title | null
            INDEX | sale_lower | null
            INDEX | sale_made | null
            INDEX | sale_pkey | null
            INDEX | sale_price | null
            INDEX | sale_sum | null
            MATERIALIZED VIEW | kept | null
            SEQUENCE | item_id_seq | null
            SEQUENCE | numbers | null
            SEQUENCE | sale_id_seq | null
            TABLE | item | the shop's items
            TABLE | sale | null
            TABLE | visit | null
            VIEW | sold | what is sold""");
        expect(data.getTables(null, "shop", "s%", new String[] {"TABLE", "VIEW"}), "TABLE_TYPE TABLE_NAME", """
            TABLE | sale
            VIEW | sold""");
    }

    private static void catalogTables() throws SQLException {
        expect(data.getTables(null, "pg_catalog", "pg\\_%class", new String[] {"SYSTEM TABLE", "SYSTEM VIEW"}),
            "TABLE_TYPE TABLE_NAME", """
            SYSTEM TABLE | pg_class
            SYSTEM TABLE | pg_opclass""");
    }

    private static void columns() throws SQLException {
        expect(data.getColumns(null, "shop", "item", "%"),
            "COLUMN_NAME TYPE_NAME NULLABLE IS_NULLABLE COLUMN_DEF ORDINAL_POSITION IS_AUTOINCREMENT"
                + " IS_GENERATEDCOLUMN REMARKS", """
            id | int4 | 0 | NO | null | 1 | YES | NO | null
            kind | int2 | 0 | NO | null | 2 | NO | NO | null
            code | varchar | 0 | NO | null | 3 | NO | NO | a code
            title | text | 1 | YES | null | 4 | NO | NO | null""");
        expect(data.getColumns(null, "shop", "sold", "%"), "COLUMN_NAME TYPE_NAME COLUMN_SIZE NULLABLE ORDINAL_POSITION", """
            id | int8 | 19 | 1 | 1
            name | varchar | 40 | 1 | 2
            price | numeric | 10 | 1 | 3
            lower | text | 2147483647 | 1 | 4
            mood | "shop"."mood" | 2147483647 | 1 | 5""");
    }

    private static void columnTypes() throws SQLException {
        expect(data.getColumns(null, "shop", "sale", "%"),
            "COLUMN_NAME DATA_TYPE TYPE_NAME COLUMN_SIZE DECIMAL_DIGITS NULLABLE COLUMN_DEF IS_AUTOINCREMENT"
                + " IS_GENERATEDCOLUMN", """
            id | -5 | bigserial | 19 | 0 | 0 | nextval('shop.sale_id_seq'::regclass) | YES | NO
            name | 12 | varchar | 40 | 0 | 0 | 'x'::character varying | NO | NO
            item_id | 4 | int4 | 10 | 0 | 1 | null | NO | NO
            item_kind | 5 | int2 | 5 | 0 | 1 | null | NO | NO
            price | 2 | numeric | 10 | 2 | 1 | 1.5 | NO | NO
            exact | 2 | numeric | 0 | null | 1 | null | NO | NO
            paid | -7 | bool | 1 | 0 | 1 | false | NO | NO
            at | 93 | timestamp | 26 | 3 | 1 | null | NO | NO
            made | 93 | timestamptz | 35 | 6 | 1 | now() | NO | NO
            day | 91 | date | 13 | 0 | 1 | null | NO | NO
            hour | 92 | time | 11 | 2 | 1 | null | NO | NO
            mood | 12 | "shop"."mood" | 2147483647 | 0 | 1 | 'glad'::shop.mood | NO | NO
            moods | 2003 | "shop"."_mood" | 2147483647 | 0 | 1 | null | NO | NO
            tags | 2003 | _text | 2147483647 | 0 | 1 | '{}'::text[] | NO | NO
            data | 1111 | jsonb | 2147483647 | 0 | 1 | null | NO | NO
            plain | 1111 | json | 2147483647 | 0 | 1 | null | NO | NO
            key | 1111 | uuid | 2147483647 | 0 | 1 | gen_random_uuid() | NO | NO
            raw | -2 | bytea | 2147483647 | 0 | 1 | null | NO | NO
            letters | 1 | bpchar | 5 | 0 | 1 | null | NO | NO
            Char | 1 | char | 1 | 0 | 1 | null | NO | NO
            alias | 12 | name | 2147483647 | 0 | 1 | null | NO | NO
            share | 7 | float4 | 8 | 8 | 1 | null | NO | NO
            ratio | 8 | float8 | 17 | 17 | 1 | null | NO | NO
            span | 1111 | interval | 49 | 6 | 1 | null | NO | NO
            spans | 1111 | interval | 49 | 3 | 1 | null | NO | NO
            amount | 2001 | "shop"."positive" | 10 | 0 | 0 | null | NO | NO
            number | -5 | oid | 10 | 0 | 1 | null | NO | NO
            total | 2 | numeric | 0 | null | 1 | (price * (2)::numeric) | NO | YES
            free | 12 | varchar | 2147483647 | 0 | 1 | null | NO | NO""");
    }

    private static void keptColumns() throws SQLException {
        expect(data.getColumns(null, "shop", "kept", "%"), "COLUMN_NAME TYPE_NAME COLUMN_SIZE", """
            id | int8 | 19
            price | numeric | 10""");
    }

    private static void addressColumns() throws SQLException {
        expect(data.getColumns(null, "shop", "visit", "%"), "COLUMN_NAME DATA_TYPE TYPE_NAME COLUMN_SIZE", """
            address | 1111 | inet | 2147483647
            network | 1111 | cidr | 2147483647
            device | 1111 | macaddr | 2147483647""");
    }

    private static void primaryKeys() throws SQLException {
        expect(data.getPrimaryKeys(null, "shop", "item"), "COLUMN_NAME KEY_SEQ PK_NAME", """
            kind | 1 | item_pk
            id | 2 | item_pk""");
        expect(data.getPrimaryKeys(null, "shop", null), "TABLE_NAME COLUMN_NAME KEY_SEQ PK_NAME", """
            item | kind | 1 | item_pk
            item | id | 2 | item_pk
            sale | id | 1 | sale_pkey""");
    }

    private static final String KEYS = "PKTABLE_NAME PKCOLUMN_NAME FKTABLE_NAME FKCOLUMN_NAME KEY_SEQ UPDATE_RULE DELETE_RULE"
        + " FK_NAME PK_NAME DEFERRABILITY";

    private static void importedKeys() throws SQLException {
        expect(data.getImportedKeys(null, "shop", "sale"), KEYS, """
            item | code | sale | name | 1 | 3 | 3 | sale_code | item_code | 7
            item | kind | sale | item_kind | 1 | 2 | 0 | sale_item | item_pk | 5
            item | id | sale | item_id | 2 | 2 | 0 | sale_item | item_pk | 5""");
    }

    private static void exportedKeys() throws SQLException {
        expect(data.getExportedKeys(null, "shop", "item"), KEYS, """
            item | code | sale | name | 1 | 3 | 3 | sale_code | item_code | 7
            item | kind | sale | item_kind | 1 | 2 | 0 | sale_item | item_pk | 5
            item | id | sale | item_id | 2 | 2 | 0 | sale_item | item_pk | 5""");
    }

    private static void crossReference() throws SQLException {
        expect(data.getCrossReference(null, "shop", "item", null, "shop", "sale"), KEYS, """
            item | code | sale | name | 1 | 3 | 3 | sale_code | item_code | 7
            item | kind | sale | item_kind | 1 | 2 | 0 | sale_item | item_pk | 5
            item | id | sale | item_id | 2 | 2 | 0 | sale_item | item_pk | 5""");
    }

    private static void indexes() throws SQLException {
        expect(data.getIndexInfo(null, "shop", "sale", false, false),
            "NON_UNIQUE INDEX_NAME TYPE ORDINAL_POSITION COLUMN_NAME ASC_OR_DESC FILTER_CONDITION", """
            f | sale_lower | 3 | 1 | lower((name)::text) | A | paid
            f | sale_pkey | 3 | 1 | id | A | null
            t | sale_made | 3 | 1 | made | A | null
            t | sale_made | 3 | 2 | day | A | null
            t | sale_price | 3 | 1 | price | D | null
            t | sale_price | 3 | 2 | name | A | null
            t | sale_sum | 3 | 1 | ((price + (1)::numeric)) | A | null
            t | sale_sum | 3 | 2 | at | A | null""");
    }

    private static void uniqueIndexes() throws SQLException {
        expect(data.getIndexInfo(null, "shop", "item", true, true), "INDEX_NAME ORDINAL_POSITION COLUMN_NAME", """
            item_code | 1 | code
            item_pk | 1 | kind
            item_pk | 2 | id
            item_title | 1 | code
            item_title | 2 | title""");
    }

    private static void bestRow() throws SQLException {
        expect(data.getBestRowIdentifier(null, "shop", "item", DatabaseMetaData.bestRowSession, false),
            "SCOPE COLUMN_NAME DATA_TYPE TYPE_NAME PSEUDO_COLUMN", """
            2 | id | 4 | int4 | 1
            2 | kind | 5 | int2 | 1""");
    }

    private static void versionColumns() throws SQLException {
        expect(data.getVersionColumns(null, "shop", "item"), "COLUMN_NAME DATA_TYPE TYPE_NAME PSEUDO_COLUMN", """
            ctid | 1111 | tid | 2""");
    }

    /** The types that applications use; the order of the others is the server's. */
    private static void typeInfo() throws SQLException {
        List<String> names = List.of("bool", "bytea", "char", "name", "int8", "int2", "int4", "text", "oid", "json", "float4",
            "float8", "bpchar", "varchar", "date", "time", "timestamp", "timestamptz", "interval", "numeric", "uuid", "jsonb",
            "_int4", "_text", "inet", "cidr", "macaddr");
        List<String> found = new ArrayList<>();
        try (ResultSet types = data.getTypeInfo()) {
            while (types.next()) {
                String name = types.getString("TYPE_NAME");
                if (names.contains(name)) {
                    found.add(name + " | " + types.getInt("DATA_TYPE") + " | " + types.getInt("PRECISION") + " | "
                        + types.getString("LITERAL_PREFIX") + " | " + types.getBoolean("CASE_SENSITIVE") + " | "
                        + types.getInt("SEARCHABLE") + " | " + types.getInt("MAXIMUM_SCALE"));
                }
            }
        }
        found.sort(null);
        compare(found, """
            _int4 | 2003 | 0 | ' | false | 3 | 0
            _text | 2003 | 0 | ' | true | 3 | 0
            bool | -7 | 0 | ' | false | 3 | 0
            bpchar | 1 | 10485760 | ' | true | 3 | 0
            bytea | -2 | 0 | ' | true | 3 | 0
            char | 1 | 0 | ' | true | 3 | 0
            cidr | 1111 | 0 | ' | true | 3 | 0
            date | 91 | 0 | ' | false | 3 | 0
            float4 | 7 | 0 | null | false | 3 | 0
            float8 | 8 | 0 | null | false | 3 | 0
            inet | 1111 | 0 | ' | true | 3 | 0
            int2 | 5 | 0 | null | false | 3 | 0
            int4 | 4 | 0 | null | false | 3 | 0
            int8 | -5 | 0 | null | false | 3 | 0
            interval | 1111 | 6 | ' | false | 3 | 0
            json | 1111 | 0 | ' | true | 3 | 0
            jsonb | 1111 | 0 | ' | true | 3 | 0
            macaddr | 1111 | 0 | ' | true | 3 | 0
            name | 12 | 0 | ' | true | 3 | 0
            numeric | 2 | 1000 | null | false | 3 | 1000
            oid | -5 | 0 | null | false | 3 | 0
            text | 12 | 0 | ' | true | 3 | 0
            time | 92 | 6 | ' | false | 3 | 0
            timestamp | 93 | 6 | ' | false | 3 | 0
            timestamptz | 93 | 6 | ' | false | 3 | 0
            uuid | 1111 | 0 | ' | true | 3 | 0
            varchar | 12 | 10485760 | ' | true | 3 | 0""");
    }

    private static void userTypes() throws SQLException {
        expectAnyOrder(data.getUDTs(null, "shop", "%", null), "TYPE_NAME CLASS_NAME DATA_TYPE REMARKS BASE_TYPE", """
            item | null | 2002 | null | null
            kept | null | 2002 | null | null
            positive | null | 2001 | null | 4
            sale | null | 2002 | null | null
            sold | null | 2002 | null | null
            visit | null | 2002 | null | null""");
        expectAnyOrder(data.getUDTs(null, "shop", "%", new int[] {Types.DISTINCT}), "TYPE_NAME BASE_TYPE", """
            positive | 4""");
    }

    private static void procedures() throws SQLException {
        expect(data.getProcedures(null, "shop", "%"), "PROCEDURE_NAME PROCEDURE_TYPE SPECIFIC_NAME", """
            doubled | 2 | doubled
            nothing | 2 | nothing""");
    }

    private static void procedureColumns() throws SQLException {
        expect(data.getProcedureColumns(null, "shop", "%", "%"),
            "PROCEDURE_NAME COLUMN_NAME COLUMN_TYPE DATA_TYPE TYPE_NAME ORDINAL_POSITION", """
            added | returnValue | 5 | 4 | int4 | 0
            added | a | 1 | 4 | int4 | 1
            added | b | 1 | 4 | int4 | 2
            doubled | a | 1 | 4 | int4 | 1
            doubled | b | 2 | 12 | text | 2
            items | wanted | 1 | 12 | text | 1
            items | id | 3 | 4 | int4 | 0
            items | kind | 3 | 5 | int2 | 0
            items | code | 3 | 12 | varchar | 0
            items | title | 3 | 12 | text | 0
            listed | a | 1 | 4 | int4 | 1
            listed | p | 5 | 4 | int4 | 2
            listed | q | 5 | 12 | text | 3
            nothing | returnValue | 5 | 1111 | void | 0
            pair | a | 1 | 4 | int4 | 1
            pair | x | 4 | 4 | int4 | 2
            pair | y | 4 | 12 | text | 3
            stamp | returnValue | 5 | 1111 | trigger | 0""");
    }

    private static void functions() throws SQLException {
        expect(data.getFunctions(null, "shop", "%"), "FUNCTION_NAME FUNCTION_TYPE REMARKS SPECIFIC_NAME", """
            added | 1 | adds | added
            items | 2 | null | items
            listed | 2 | null | listed
            pair | 1 | null | pair
            stamp | 1 | null | stamp""");
    }

    private static void functionColumns() throws SQLException {
        expect(data.getFunctionColumns(null, "shop", "%", "%"),
            "FUNCTION_NAME COLUMN_NAME COLUMN_TYPE DATA_TYPE TYPE_NAME ORDINAL_POSITION", """
            added | returnValue | 4 | 4 | int4 | 0
            added | a | 1 | 4 | int4 | 1
            added | b | 1 | 4 | int4 | 2
            doubled | a | 1 | 4 | int4 | 1
            doubled | b | 2 | 12 | text | 2
            items | wanted | 1 | 12 | text | 1
            items | id | 5 | 4 | int4 | 0
            items | kind | 5 | 5 | int2 | 0
            items | code | 5 | 12 | varchar | 0
            items | title | 5 | 12 | text | 0
            listed | a | 1 | 4 | int4 | 1
            listed | p | 4 | 4 | int4 | 2
            listed | q | 4 | 12 | text | 3
            nothing | returnValue | 4 | 1111 | void | 0
            pair | a | 1 | 4 | int4 | 1
            pair | x | 3 | 4 | int4 | 2
            pair | y | 3 | 12 | text | 3
            stamp | returnValue | 4 | 1111 | trigger | 0""");
    }

    private static void tablePrivileges() throws SQLException {
        expectAnyOrder(data.getTablePrivileges(null, "shop", "item"), "GRANTEE PRIVILEGE IS_GRANTABLE", """
            owner | DELETE | YES
            owner | INSERT | YES
            owner | REFERENCES | YES
            owner | SELECT | YES
            owner | TRIGGER | YES
            owner | TRUNCATE | YES
            owner | UPDATE | YES
            shop_reader | SELECT | NO
            shop_reader | UPDATE | NO""");
    }

    private static void columnPrivileges() throws SQLException {
        expectAnyOrder(data.getColumnPrivileges(null, "shop", "item", "title"), "GRANTEE PRIVILEGE IS_GRANTABLE", """
            owner | DELETE | YES
            owner | INSERT | YES
            owner | REFERENCES | YES
            owner | SELECT | YES
            owner | TRIGGER | YES
            owner | TRUNCATE | YES
            owner | UPDATE | YES""");
    }

    private static void clientInfo() throws SQLException {
        expect(data.getClientInfoProperties(), "NAME MAX_LEN", """
            ApplicationName | 63""");
    }

    private static void words() throws SQLException {
        Steps.expect(("," + data.getSQLKeywords() + ",").contains(",ilike,"), "ilike among the keywords");
        Steps.expect(data.getNumericFunctions().contains("abs"), "abs among the functions of numbers");
        Steps.expect(data.getStringFunctions().contains("concat"), "concat among the functions of strings");
        Steps.expect(data.getTimeDateFunctions().contains("now"), "now among the functions of time");
        Steps.expect(data.getSystemFunctions().contains("user"), "user among the functions of the system");
    }

    private static void limits() throws SQLException {
        Steps.equal(data.getDatabaseProductName(), "PostgreSQL", "product");
        Steps.equal(data.getMaxColumnNameLength(), 63, "longest name of a column");
        Steps.equal(data.getMaxTableNameLength(), 63, "longest name of a table");
        Steps.equal(data.getMaxColumnsInIndex(), 32, "most columns of an index");
        Steps.expect(data.getMaxConnections() > 0, "a limit of connections");
        Steps.equal(data.getUserName(), Steps.user(), "user");
        Steps.equal(data.getURL(), Steps.url(), "URL");
        Steps.expect(data.storesLowerCaseIdentifiers(), "identifiers in lower case");
        Steps.expect(data.supportsGetGeneratedKeys() && !data.isReadOnly(), "keys that inserts give");
        Steps.expect(data.supportsTransactionIsolationLevel(Connection.TRANSACTION_SERIALIZABLE), "serializable transactions");
    }

    private static void lacking() throws Exception {
        Steps.refused(SQLFeatureNotSupportedException.class, "getSuperTypes", () -> data.getSuperTypes(null, null, "%"));
        Steps.refused(SQLFeatureNotSupportedException.class, "getSuperTables", () -> data.getSuperTables(null, null, "%"));
        Steps.refused(SQLFeatureNotSupportedException.class, "getAttributes", () -> data.getAttributes(null, "shop", "%", "%"));
        Steps.refused(SQLFeatureNotSupportedException.class, "getPseudoColumns", () -> data.getPseudoColumns(null, null, "%", "%"));
    }

    private static void resultColumns(Connection connection) throws SQLException {
        List<String> found = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement("SELECT i.id, i.code AS label, s.price, s.name, s.mood,"
            + " s.tags, 1 AS one, 'x' AS letter, NULL AS nothing, count(*) OVER () FROM shop.item i, shop.sale s, shop.sold v")) {
            ResultSetMetaData columns = statement.getMetaData();
            for (int number = 1; number <= columns.getColumnCount(); number++) {
                found.add(columns.getColumnLabel(number) + " | " + columns.getTableName(number) + " | "
                    + columns.getColumnTypeName(number) + " | " + columns.getColumnType(number) + " | "
                    + columns.getPrecision(number) + " | " + columns.getScale(number) + " | " + columns.isNullable(number) + " | "
                    + columns.isAutoIncrement(number) + " | " + columns.getColumnClassName(number));
            }
        }
        compare(found, """
            id | item | serial | 4 | 10 | 0 | 0 | true | java.lang.Integer
            label | item | varchar | 12 | 10 | 0 | 0 | false | java.lang.String
            price | sale | numeric | 2 | 10 | 2 | 1 | false | java.math.BigDecimal
            name | sale | varchar | 12 | 40 | 0 | 0 | false | java.lang.String
            mood | sale | "shop"."mood" | 12 | 2147483647 | 0 | 1 | false | java.lang.String
            tags | sale | _text | 2003 | 2147483647 | 0 | 1 | false | java.sql.Array
            one |  | int4 | 4 | 10 | 0 | 2 | false | java.lang.Integer
            letter |  | text | 12 | 2147483647 | 0 | 2 | false | java.lang.String
            nothing |  | text | 12 | 2147483647 | 0 | 2 | false | java.lang.String
            count |  | int8 | -5 | 19 | 0 | 2 | false | java.lang.Long""");
    }

    private static void parameters(Connection connection) throws SQLException {
        List<String> found = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement(
            "SELECT 1 FROM shop.sale WHERE id = ? AND name = ? AND mood = ? AND tags @> ? AND made > ? LIMIT ?")) {
            ParameterMetaData parameters = statement.getParameterMetaData();
            for (int number = 1; number <= parameters.getParameterCount(); number++) {
                found.add(parameters.getParameterTypeName(number) + " | " + parameters.getParameterType(number) + " | "
                    + parameters.getParameterClassName(number));
            }
        }
        compare(found, """
            int8 | -5 | java.lang.Long
            text | 12 | java.lang.String
            "shop"."mood" | 12 | java.lang.String
            _text | 2003 | java.sql.Array
            timestamptz | 93 | java.sql.Timestamp
            int8 | -5 | java.lang.Long""");
    }

    private static void updatable(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
            statement.execute("INSERT INTO shop.item (kind, code) VALUES (1, 'a'), (2, 'b')");
            try (ResultSet rows = statement.executeQuery("SELECT kind, id, code, title FROM shop.item ORDER BY kind")) {
                rows.absolute(2);
                rows.updateString("title", "second");
                rows.updateRow();
                rows.first();
                rows.deleteRow();
                rows.moveToInsertRow();
                rows.updateInt("kind", 3);
                rows.updateString("code", "c");
                rows.insertRow();
            }
            expect(statement.executeQuery("SELECT kind, code, title FROM shop.item ORDER BY kind"), "kind code title", """
            2 | b | second
            3 | c | null""");
        }
    }

    private WithMetadata() {}
}
