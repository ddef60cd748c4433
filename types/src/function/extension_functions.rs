//! The rows of `function_table` for what the functions of extensions call, and for their operators. They are
//! appended to those of that module, and form one table with them.

macro_rules! extension_functions {
    ($($rows:tt)*) => { argument_functions! { $($rows)*
    // For the extensions pgcrypto and uuid-ossp, whose functions call these.
    Digest: strict, NOTHING, crypto {
        "pgcrypto_digest" => (TEXT, TEXT) -> BYTEA, (BYTEA, TEXT) -> BYTEA;
    }
    Hmac: strict, NOTHING, crypto {
        "pgcrypto_hmac" => (TEXT, TEXT, TEXT) -> BYTEA, (BYTEA, BYTEA, TEXT) -> BYTEA;
    }
    Crypt: strict, NOTHING, crypto {
        "pgcrypto_crypt" => (TEXT, TEXT) -> TEXT;
    }
    GenSalt: strict, ENTROPY, crypto {
        "pgcrypto_gen_salt" => (TEXT) -> TEXT, (TEXT, INT4) -> TEXT;
    }
    RandomBytes: strict, ENTROPY, crypto {
        "pgcrypto_random_bytes" => (INT4) -> BYTEA;
    }
    /// Version 1: the time and a number of its own.
    UuidOfTime: strict, ENTROPY, crypto {
        "uuid_ossp_v1" => () -> UUID;
    }
    /// Versions 3 and 5: a hash of a name in a namespace.
    UuidOfName: strict, NOTHING, crypto {
        "uuid_ossp_named" => (INT4, UUID, TEXT) -> UUID;
    }
    // hstore: operators, and what the functions of the extension call
    HstoreGet: strict, NOTHING, hstore {
        "->" => (HSTORE, TEXT) -> TEXT, (HSTORE, TEXTS) -> TEXTS;
    }
    HstoreExists: strict, NOTHING, hstore { "?" => (HSTORE, TEXT) -> BOOL; }
    HstoreExistsAny: strict, NOTHING, hstore { "?|" => (HSTORE, TEXTS) -> BOOL; }
    HstoreExistsAll: strict, NOTHING, hstore { "?&" => (HSTORE, TEXTS) -> BOOL; }
    HstoreDefined: strict, NOTHING, hstore { "hstore_defined" => (HSTORE, TEXT) -> BOOL; }
    HstoreContains: strict, NOTHING, hstore { "@>" => (HSTORE, HSTORE) -> BOOL; }
    HstoreContained: strict, NOTHING, hstore { "<@" => (HSTORE, HSTORE) -> BOOL; }
    HstoreConcat: strict, NOTHING, hstore { "||" => (HSTORE, HSTORE) -> HSTORE; }
    HstoreDelete: strict, NOTHING, hstore {
        "-" => (HSTORE, TEXT) -> HSTORE, (HSTORE, TEXTS) -> HSTORE, (HSTORE, HSTORE) -> HSTORE;
    }
    HstoreSlice: strict, NOTHING, hstore { "hstore_slice_to_hstore" => (HSTORE, TEXTS) -> HSTORE; }
    HstoreLess: strict, NOTHING, hstore { "#<#" => (HSTORE, HSTORE) -> BOOL; }
    HstoreLessEqual: strict, NOTHING, hstore { "#<=#" => (HSTORE, HSTORE) -> BOOL; }
    HstoreGreater: strict, NOTHING, hstore { "#>#" => (HSTORE, HSTORE) -> BOOL; }
    HstoreGreaterEqual: strict, NOTHING, hstore { "#>=#" => (HSTORE, HSTORE) -> BOOL; }
    HstoreOfPair: sees_null, NOTHING, hstore { "hstore_from_text" => (TEXT, TEXT) -> HSTORE; }
    HstoreOfArrays: sees_null, NOTHING, hstore { "hstore_from_arrays" => (TEXTS, TEXTS) -> HSTORE; }
    HstoreOfArray: strict, NOTHING, hstore { "hstore_from_array" => (TEXTS) -> HSTORE; }
    HstoreKeys: strict, NOTHING, hstore { "hstore_akeys" => (HSTORE) -> TEXTS; }
    HstoreValues: strict, NOTHING, hstore { "hstore_avals" => (HSTORE) -> TEXTS; }
    HstoreToArray: strict, NOTHING, hstore { "hstore_array" => (HSTORE) -> TEXTS; }
    HstoreToMatrix: strict, NOTHING, hstore { "hstore_matrix" => (HSTORE) -> TEXTS; }
    HstoreToJson: strict, NOTHING, hstore { "hstore_json" => (HSTORE) -> JSON; }
    HstoreToJsonLoose: strict, NOTHING, hstore { "hstore_json_loose" => (HSTORE) -> JSON; }
    } };
}

pub(super) use extension_functions;
