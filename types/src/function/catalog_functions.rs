//! The rows of `function_table` for functions that look at the catalog, or that clients call to read it. They
//! are appended to those of that module, and form one table with them.

macro_rules! catalog_functions {
    ($($rows:tt)*) => { functions! { $($rows)*
    // The catalog
    FormatType: sees_null, CATALOG, system {
        "format_type" => (OID, INT4) -> TEXT;
    }
    UserById: strict, CATALOG, system {
        "pg_get_userbyid" => (OID) -> NAME;
    }
    TableIsVisible: strict, CATALOG, system {
        "pg_table_is_visible" => (OID) -> BOOL;
    }
    TypeIsVisible: strict, CATALOG, system {
        "pg_type_is_visible" => (OID) -> BOOL;
    }
    RoutineIsVisible: strict, CATALOG, system {
        "pg_function_is_visible" => (OID) -> BOOL;
    }
    CollationIsVisible: strict, CATALOG, system {
        "pg_collation_is_visible" | "pg_conversion_is_visible" | "pg_opclass_is_visible" | "pg_operator_is_visible"
        | "pg_opfamily_is_visible" | "pg_statistics_obj_is_visible" | "pg_ts_config_is_visible"
        | "pg_ts_dict_is_visible" | "pg_ts_parser_is_visible" | "pg_ts_template_is_visible" => (OID) -> BOOL;
    }
    /// A `pg_node_tree` is already the expression's text.
    ExpressionText: strict, NOTHING, system {
        "pg_get_expr" => (NODETREE, OID) -> TEXT, (NODETREE, OID, BOOL) -> TEXT;
    }
    IndexDefinition: strict, CATALOG, system {
        "pg_get_indexdef" => (OID) -> TEXT, (OID, INT4, BOOL) -> TEXT;
    }
    ViewDefinition: strict, CATALOG, system {
        "pg_get_viewdef" => (OID) -> TEXT, (OID, BOOL) -> TEXT, (OID, INT4) -> TEXT;
    }
    RuleDefinition: strict, CATALOG, system {
        "pg_get_ruledef" => (OID) -> TEXT, (OID, BOOL) -> TEXT;
    }
    /// For a view that is given by name.
    NamedViewDefinition: strict, CATALOG, system {
        "pg_get_viewdef" => (TEXT) -> TEXT, (TEXT, BOOL) -> TEXT;
    }
    ConstraintDefinition: strict, CATALOG, system {
        "pg_get_constraintdef" => (OID) -> TEXT, (OID, BOOL) -> TEXT;
    }
    TriggerText: strict, CATALOG, system {
        "pg_get_triggerdef" => (OID) -> TEXT, (OID, BOOL) -> TEXT;
    }
    RoutineSource: strict, CATALOG, system {
        "pg_get_functiondef" => (OID) -> TEXT;
    }
    /// If it is in standard SQL.
    RoutineBody: strict, CATALOG, system {
        "pg_get_function_sqlbody" => (OID) -> TEXT;
    }
    RoutineResult: strict, CATALOG, system {
        "pg_get_function_result" => (OID) -> TEXT;
    }
    /// With default values.
    RoutineArguments: strict, CATALOG, system {
        "pg_get_function_arguments" => (OID) -> TEXT;
    }
    RoutineIdentity: strict, CATALOG, system {
        "pg_get_function_identity_arguments" => (OID) -> TEXT;
    }
    /// The default of the input with this number.
    RoutineDefault: strict, CATALOG, system {
        "pg_get_function_arg_default" => (OID, INT4) -> TEXT;
    }
    /// The sequence that belongs to a column, for names in a row. Where the names are the same for all
    /// rows, the session returns the value.
    SerialSequence: strict, CATALOG, system {
        "pg_get_serial_sequence" => (TEXT, TEXT) -> TEXT;
    }
    /// NULL before the first number is drawn.
    SequenceLastValue: strict, CATALOG, system {
        "pg_sequence_last_value" => (REGCLASS) -> INT8;
    }
    TypesOfVector: strict, CATALOG, system {
        "oidvectortypes" => (OIDVECTOR) -> TEXT;
    }
    /// For the name in a row. Where the name is the same for all rows, the session returns the value.
    SettingShown: strict, CATALOG, system {
        "current_setting" => (TEXT) -> TEXT;
    }
    // Bytes in memory
    RelationSize: strict, CATALOG, system {
        "pg_table_size" => (REGCLASS) -> INT8;
        "pg_relation_size" => (REGCLASS) -> INT8, (REGCLASS, TEXT) -> INT8;
    }
    IndexesSize: strict, CATALOG, system {
        "pg_indexes_size" => (REGCLASS) -> INT8;
    }
    WholeSize: strict, CATALOG, system {
        "pg_total_relation_size" => (REGCLASS) -> INT8;
    }
    DatabaseSize: strict, CATALOG, system {
        "pg_database_size" => (OID) -> INT8, (NAME) -> INT8;
    }
    /// There are no files: NULL, as PostgreSQL returns for a missing file.
    NoSize: strict, NOTHING, system {
        "pg_tablespace_size" => (OID) -> INT8, (NAME) -> INT8;
    }
    /// For objects that cannot be created: NULL, as PostgreSQL returns for a number without such an object.
    NoDefinition: strict, NOTHING, system {
        "pg_get_statisticsobjdef" | "pg_get_statisticsobjdef_columns" => (OID) -> TEXT;
        "pg_get_partkeydef" | "pg_get_partition_constraintdef" => (OID) -> TEXT;
    }
    /// The comment on an object.
    Description: strict, CATALOG, system {
        "obj_description" => (OID) -> TEXT, (OID, NAME) -> TEXT;
        "col_description" => (OID, INT4) -> TEXT;
        "shobj_description" => (OID, NAME) -> TEXT;
    }
    EncodingName: strict, NOTHING, system {
        "pg_encoding_to_char" => (INT4) -> NAME;
        "getdatabaseencoding" => () -> NAME;
    }
    EncodingNumber: strict, NOTHING, system {
        "pg_char_to_encoding" => (NAME) -> INT4;
    }
    TablespaceLocation: strict, NOTHING, system {
        "pg_tablespace_location" => (OID) -> TEXT;
    }
    HasTablePrivilege: strict, CATALOG, system {
        "has_table_privilege" | "has_any_column_privilege" => (REGCLASS, TEXT) -> BOOL, (ANY, REGCLASS, TEXT) -> BOOL;
    }
    HasColumnPrivilege: strict, CATALOG, system {
        "has_column_privilege" => (REGCLASS, ANY, TEXT) -> BOOL, (ANY, REGCLASS, ANY, TEXT) -> BOOL;
    }
    HasSequencePrivilege: strict, CATALOG, system {
        "has_sequence_privilege" => (ANY, TEXT) -> BOOL, (ANY, ANY, TEXT) -> BOOL;
    }
    HasFunctionPrivilege: strict, CATALOG, system {
        "has_function_privilege" => (ANY, TEXT) -> BOOL, (ANY, ANY, TEXT) -> BOOL;
    }
    HasSchemaPrivilege: strict, CATALOG, system {
        "has_schema_privilege" => (ANY, TEXT) -> BOOL, (ANY, ANY, TEXT) -> BOOL;
    }
    HasDatabasePrivilege: strict, CATALOG, system {
        "has_database_privilege" => (ANY, TEXT) -> BOOL, (ANY, ANY, TEXT) -> BOOL;
    }
    HasTypePrivilege: strict, CATALOG, system {
        "has_type_privilege" => (ANY, TEXT) -> BOOL, (ANY, ANY, TEXT) -> BOOL;
    }
    HasRole: strict, CATALOG, system {
        "pg_has_role" => (ANY, TEXT) -> BOOL, (ANY, ANY, TEXT) -> BOOL;
    }
    /// For objects that every role may use.
    HasAnyPrivilege: strict, NOTHING, system {
        "has_language_privilege" | "has_tablespace_privilege" => (ANY, TEXT) -> BOOL, (ANY, ANY, TEXT) -> BOOL;
    }
    /// The privileges of every role and of the owner on an object of this kind whose access list was never
    /// changed.
    DefaultPrivileges: strict, CATALOG, system {
        "acldefault" => (LETTER, OID) -> ACLITEMS;
    }
    /// `name[0]`
    NameCharacter: strict, NOTHING, system {}
    // The two columns of `pg_options_to_table`, as arrays.
    OptionNames: strict, NOTHING, system {}
    OptionValues: strict, NOTHING, system {}
    IsPublishable: strict, CATALOG, system {
        "pg_relation_is_publishable" => (REGCLASS) -> BOOL;
    }
    ToRegClass: strict, CATALOG, system {
        "to_regclass" => (TEXT) -> REGCLASS;
    }
    ToRegType: strict, CATALOG, system {
        "to_regtype" => (TEXT) -> REGTYPE;
    }
    ToRegProc: strict, CATALOG, system {
        "to_regproc" => (TEXT) -> REGPROC;
    }
    ToRegProcedure: strict, CATALOG, system {
        "to_regprocedure" => (TEXT) -> REGPROCEDURE;
    }
    ToRegNamespace: strict, CATALOG, system {
        "to_regnamespace" => (TEXT) -> REGNAMESPACE;
    }
    ToRegRole: strict, CATALOG, system {
        "to_regrole" => (TEXT) -> REGROLE;
    }
    // What values of a type, given with its modifier, can hold: helpers of the information schema
    MostCharacters: strict, CATALOG, system {
        "information_schema._pg_char_max_length" => (OID, INT4) -> INT4;
    }
    MostBytes: strict, CATALOG, system {
        "information_schema._pg_char_octet_length" => (OID, INT4) -> INT4;
    }
    NumericPrecision: strict, CATALOG, system {
        "information_schema._pg_numeric_precision" => (OID, INT4) -> INT4;
    }
    NumericRadix: strict, CATALOG, system {
        "information_schema._pg_numeric_precision_radix" => (OID, INT4) -> INT4;
    }
    NumericScale: strict, CATALOG, system {
        "information_schema._pg_numeric_scale" => (OID, INT4) -> INT4;
    }
    TimePrecision: strict, CATALOG, system {
        "information_schema._pg_datetime_precision" => (OID, INT4) -> INT4;
    }
    IntervalFields: strict, CATALOG, system {
        "information_schema._pg_interval_type" => (OID, INT4) -> TEXT;
    }
    SizePretty: strict, NOTHING, system {
        "pg_size_pretty" => (INT8) -> TEXT;
    }
    } };
}

pub(super) use catalog_functions;
