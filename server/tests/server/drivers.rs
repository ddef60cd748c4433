//! tokio-postgres: binary parameters and results, pipelines, portals, COPY and cancel, as drivers use them.

use std::time::Duration;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Config, NoTls};

use crate::process::Server;

async fn connect(server: &Server) -> Client {
    let (client, connection) =
        Config::new().host("127.0.0.1").port(server.port).user("hyades").connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

#[tokio::test]
async fn every_common_type_goes_both_ways_in_binary() {
    let server = Server::start(&[]);
    let client = connect(&server).await;
    client
        .batch_execute(
            "create table t (id bigint primary key, truth boolean, small smallint, whole integer, single real,
                             double double precision, words text, short varchar(10), bytes bytea)",
        )
        .await
        .unwrap();
    let insert = client.prepare("insert into t values ($1, $2, $3, $4, $5, $6, $7, $8, $9)").await.unwrap();
    let expected = [
        Type::INT8,
        Type::BOOL,
        Type::INT2,
        Type::INT4,
        Type::FLOAT4,
        Type::FLOAT8,
        Type::TEXT,
        Type::VARCHAR,
        Type::BYTEA,
    ];
    assert_eq!(insert.params(), expected);
    let bytes = vec![0_u8, 1, 255];
    let count = client
        .execute(&insert, &[&1_i64, &true, &2_i16, &3_i32, &4.5_f32, &6.25_f64, &"ä", &"short", &bytes])
        .await
        .unwrap();
    assert_eq!(count, 1);
    let nothing: Option<i32> = None;
    let words: Option<&str> = None;
    client
        .execute(
            &insert,
            &[
                &2_i64,
                &None::<bool>,
                &None::<i16>,
                &nothing,
                &None::<f32>,
                &None::<f64>,
                &words,
                &words,
                &None::<Vec<u8>>,
            ],
        )
        .await
        .unwrap();
    let row = client.query_one("select * from t where id = $1", &[&1_i64]).await.unwrap();
    assert!(row.get::<_, bool>(1));
    assert_eq!((row.get::<_, i16>(2), row.get::<_, i32>(3)), (2, 3));
    assert_eq!((row.get::<_, f32>(4), row.get::<_, f64>(5)), (4.5, 6.25));
    assert_eq!((row.get::<_, &str>(6), row.get::<_, &str>(7)), ("ä", "short"));
    assert_eq!(row.get::<_, Vec<u8>>(8), bytes);
    let row = client.query_one("select whole, words from t where id = 2", &[]).await.unwrap();
    assert_eq!((row.get::<_, Option<i32>>(0), row.get::<_, Option<&str>>(1)), (None, None));
}

#[tokio::test]
async fn a_pipeline_of_statements_is_answered_in_order() {
    let server = Server::start(&[]);
    let client = connect(&server).await;
    client.batch_execute("create table t (id integer primary key)").await.unwrap();
    let insert = client.prepare("insert into t values ($1)").await.unwrap();
    let mut tasks = Vec::new();
    let client = std::sync::Arc::new(client);
    for id in 0..200_i32 {
        let (client, insert) = (std::sync::Arc::clone(&client), insert.clone());
        tasks.push(tokio::spawn(async move { client.execute(&insert, &[&(id % 190)]).await.is_ok() }));
    }
    let mut inserted = 0;
    for task in tasks {
        inserted += u32::from(task.await.unwrap());
    }
    assert_eq!(inserted, 190);
    let count: i64 = client.query_one("select count(*) from t", &[]).await.unwrap().get(0);
    assert_eq!(count, 190);
}

#[tokio::test]
async fn portals_hand_out_rows_in_parts() {
    let server = Server::start(&[]);
    let mut client = connect(&server).await;
    let transaction = client.transaction().await.unwrap();
    let portal = transaction.bind("select g from generate_series(1, 25) g", &[]).await.unwrap();
    for expected in [10, 10, 5, 0] {
        assert_eq!(transaction.query_portal(&portal, 10).await.unwrap().len(), expected);
    }
    transaction.commit().await.unwrap();
}

#[tokio::test]
async fn a_cancel_token_stops_a_wait_and_the_transaction_can_go_on() {
    let server = Server::start(&[]);
    let (holder, waiter) = (connect(&server).await, connect(&server).await);
    holder.batch_execute("create table t (id integer primary key); insert into t values (1)").await.unwrap();
    holder.batch_execute("begin; update t set id = 2").await.unwrap();
    let token = waiter.cancel_token();
    let task = tokio::spawn(async move { (waiter.batch_execute("update t set id = 3").await, waiter) });
    tokio::time::sleep(Duration::from_millis(200)).await;
    token.cancel_query(NoTls).await.unwrap();
    let (outcome, waiter) = task.await.unwrap();
    assert_eq!(outcome.unwrap_err().code().unwrap().code(), "57014");
    holder.batch_execute("rollback").await.unwrap();
    waiter.batch_execute("update t set id = 4").await.unwrap();
}

#[tokio::test]
async fn computing_statements_on_all_workers_do_not_keep_a_cancel_out() {
    let server = Server::start(&["--workers", "1"]);
    let client = connect(&server).await;
    let token = client.cancel_token();
    let sql = "select count(*) from generate_series(1, 3000) a, generate_series(1, 3000) b, generate_series(1, 3000) c";
    let task = tokio::spawn(async move { client.batch_execute(sql).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    token.cancel_query(NoTls).await.unwrap();
    let outcome = tokio::time::timeout(Duration::from_secs(10), task).await.unwrap().unwrap();
    assert_eq!(outcome.unwrap_err().code().unwrap().code(), "57014");
}
