//! The words that sqlparser may treat as keywords: those of PostgreSQL.
//!
//! sqlparser knows the keywords of all databases, accepts many of them in its PostgreSQL dialect, too, and
//! drops some of them without leaving a trace in its tree (`AUTO_INCREMENT`). In PostgreSQL such a word is a
//! name like any other. Here it becomes one before the statement is parsed, so no clause that begins with it
//! can be met. Clauses of other databases whose words are keywords of PostgreSQL are refused afterwards
//! (`super::foreign`).

use std::sync::LazyLock;

use sqlparser::keywords::{ALL_KEYWORDS, Keyword};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The keywords of PostgreSQL 15 (`pg_get_keywords`) that sqlparser has, too.
const KEYWORDS: &str = "
    abort absolute access action add admin after aggregate all alter always analyze and any array as asc
    asensitive asymmetric at atomic attach authorization backward before begin between bigint binary bit
    boolean both by cache call called cascade cascaded case cast catalog chain char character
    characteristics check class close cluster coalesce collate collation column columns comment commit
    committed compression concurrently conflict connection constraint continue copy cost create cross csv
    cube current current_catalog current_date current_role current_schema current_time current_timestamp
    current_user cursor cycle data database day deallocate dec decimal declare default defaults deferrable
    deferred definer delete delimiter depends desc detach disable discard distinct do domain double drop
    each else enable encoding encrypted end enum escape event except exclude excluding exclusive execute
    exists explain extension external extract false family fetch filter first float following for force
    foreign forward freeze from full function functions generated global grant granted group grouping groups
    having header hold hour identity if ilike immediate immutable import in include including increment
    index inherit inherits initially inner inout input insensitive insert instead int integer intersect
    interval into invoker is isolation join key language large last lateral leading leakproof least left
    level like limit listen load local localtime localtimestamp location lock locked match matched
    materialized maxvalue merge method minute minvalue mode month name names national natural nchar new next
    nfc nfd nfkc nfkd no none normalize normalized not nothing notify notnull nowait null nullif nulls
    numeric object of off offset old on only operator option options or order ordinality out outer over
    overlaps overlay owned owner parallel parameter partial partition passing password placing plans policy
    position preceding precision prepare preserve primary prior privileges procedure program quote range
    read real recursive ref references referencing refresh reindex relative release rename repeatable
    replace replica reset restart restrict return returning returns revoke right role rollback rollup row
    rows rule savepoint schema schemas scroll search second security select sequence sequences serializable
    server session session_user set setof sets share show similar simple skip smallint snapshot some sql
    stable start statement statistics stdin stdout storage stored strict substring support symmetric system
    table tables tablesample tablespace temp temporary text then ties time timestamp to trailing transaction
    treat trigger trim true truncate type uescape unbounded uncommitted union unique unknown unlisten
    unlogged until update user using vacuum valid validate value values varchar variadic varying verbose
    version view views volatile when where window with within without work wrapper write xml xmlnamespaces
    xmltable year yes zone
";

/// No keywords of PostgreSQL, but of sqlparser: names of types, and of functions with a node of their own in
/// its tree; and words that are refused at another word (`INSERT OR IGNORE`).
const NAMES: &str = "
    bool bytea ceil date fail float4 float8 floor ignore int2 int4 int8 json jsonb regclass substr timestamptz
    timetz unnest uuid
";

/// For each keyword of sqlparser, by its number, whether it is one here.
static KNOWN: LazyLock<Vec<bool>> = LazyLock::new(|| {
    let known: Vec<String> =
        [KEYWORDS, NAMES].iter().flat_map(|words| words.split_whitespace()).map(str::to_uppercase).collect();
    let is_known = |word: &&str| known.iter().any(|known| known == word);
    // The first number is that of `NoKeyword`.
    std::iter::once(true).chain(ALL_KEYWORDS.iter().map(is_known)).collect()
});

/// See the module head.
pub(super) fn restrict(tokens: &mut [TokenWithSpan]) {
    for token in tokens {
        if let Token::Word(word) = &mut token.token
            && !KNOWN.get(word.keyword as usize).is_some_and(|is_known| *is_known)
        {
            word.keyword = Keyword::NoKeyword;
        }
    }
}
