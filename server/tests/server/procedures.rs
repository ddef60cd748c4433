//! Procedures through the real server: how clients see bad ones fail, and what remains of good ones after
//! SIGKILL.

use std::time::{Duration, Instant};

use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

use crate::process::{Directory, Server};

async fn connect(server: &Server) -> Client {
    let (client, connection) =
        Config::new().host("127.0.0.1").port(server.port).user("hyades").connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn state_of(client: &Client, sql: &str) -> String {
    let error = client.batch_execute(sql).await.expect_err(sql);
    error.code().unwrap_or_else(|| panic!("{sql}: {error}")).code().to_owned()
}

async fn value_of(client: &Client, sql: &str) -> String {
    let rows = client.simple_query(sql).await.unwrap();
    let SimpleQueryMessage::Row(row) =
        rows.iter().find(|message| matches!(message, SimpleQueryMessage::Row(_))).expect("a row")
    else {
        panic!("no row")
    };
    row.get(0).unwrap_or("NULL").to_owned()
}

/// The second row of the result.
async fn second_line(client: &Client, sql: &str) -> String {
    let answered = client.simple_query(sql).await.unwrap();
    let mut rows = answered.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    rows.nth(1).expect("two rows").to_owned()
}

const FOREVER: &str = "create procedure forever() language plpgsql as $$ begin loop null; end loop; end $$;
    create procedure stubborn() language plpgsql as $$
    begin
        loop
            begin
                perform 1;
            exception when others then
                null;
            end;
        end loop;
    end
    $$";

#[tokio::test]
async fn an_endless_loop_is_cancelled_and_obeys_statement_timeout() {
    let server = Server::start(&["--workers", "1"]);
    let client = connect(&server).await;
    client.batch_execute(FOREVER).await.unwrap();
    client.batch_execute("set statement_timeout = 300").await.unwrap();
    for call in ["call forever()", "call stubborn()"] {
        let start = Instant::now();
        assert_eq!(state_of(&client, call).await, "57014");
        assert!(start.elapsed() >= Duration::from_millis(250) && start.elapsed() < Duration::from_secs(10));
    }
    client.batch_execute("set statement_timeout = 0").await.unwrap();
    let token = client.cancel_token();
    let task = tokio::spawn(async move { (client.batch_execute("call stubborn()").await, client) });
    tokio::time::sleep(Duration::from_millis(300)).await;
    token.cancel_query(NoTls).await.unwrap();
    let (outcome, client) = tokio::time::timeout(Duration::from_secs(10), task).await.unwrap().unwrap();
    assert_eq!(outcome.unwrap_err().code().unwrap().code(), "57014");
    assert_eq!(value_of(&client, "select 1").await, "1");
}

#[tokio::test]
async fn bad_calls_are_refused_with_postgresqls_codes() {
    let server = Server::start(&[]);
    let client = connect(&server).await;
    client
        .batch_execute(
            "create function deeper(n int) returns int language plpgsql as $$ begin return deeper(n + 1); end $$;
             create procedure divide(n int) language plpgsql as $$ begin perform 1 / n; end $$;
             create procedure refuse(n int) language plpgsql as $$
             begin raise exception 'no %', n using errcode = 'U0042', detail = 'd', hint = 'h'; end $$",
        )
        .await
        .unwrap();
    let error = client.batch_execute("select deeper(1)").await.unwrap_err();
    let told = error.as_db_error().unwrap();
    assert_eq!(told.code().code(), "54001");
    let places: Vec<&str> = told.where_().unwrap().lines().collect();
    assert_eq!((places.len(), *places.last().unwrap()), (51, "(and 3950 more)"));
    assert_eq!(state_of(&client, "call divide(0)").await, "22012");
    assert_eq!(state_of(&client, "call divide('x'::text)").await, "42883");
    assert_eq!(state_of(&client, "call divide()").await, "42883");
    assert_eq!(state_of(&client, "call nobody(1)").await, "42883");
    let error = client.batch_execute("call refuse(3)").await.unwrap_err();
    let told = error.as_db_error().unwrap();
    assert_eq!((told.code().code(), told.message()), ("U0042", "no 3"));
    assert_eq!((told.detail(), told.hint()), (Some("d"), Some("h")));
    assert_eq!(told.where_(), Some("PL/pgSQL function refuse(integer) line 2 at RAISE"));
    for (state, body) in
        [("42P01", "begin insert into nowhere values (1); end"), ("42883", "begin perform 1 + true; end")]
    {
        let create = format!("create or replace procedure later() language plpgsql as $$ {body} $$");
        client.batch_execute(&create).await.unwrap();
        assert_eq!(state_of(&client, "call later()").await, state, "{body}");
    }
    for (state, body) in
        [("42601", "begin loop exit nowhere; end loop; end"), ("0A000", "begin lock table x; end")]
    {
        let create = format!("create procedure wrong() language plpgsql as $$ {body} $$");
        assert_eq!(state_of(&client, &create).await, state, "{body}");
    }
    assert_eq!(value_of(&client, "select 1").await, "1");
}

#[tokio::test]
async fn calls_logged_either_way_survive_sigkill() {
    let directory = Directory::new();
    let server = Server::start_in(directory, &["--logging", "command"]);
    let client = connect(&server).await;
    client
        .batch_execute(
            "create table t (id int primary key, v bigint not null, at timestamp, dice double precision);
             create procedure put(n int, times int) language plpgsql as $$
             begin
                 for i in 1 .. times loop
                     insert into t values (n * 100 + i, i, localtimestamp, random())
                         on conflict (id) do update set v = t.v + excluded.v;
                 end loop;
                 begin
                     update t set v = v + 1000 where id > n * 100;
                     perform 1 / (n % 3);
                 exception when division_by_zero then
                     delete from t where id = n * 100 + 1;
                 end;
             end
             $$",
        )
        .await
        .unwrap();
    let explained = second_line(&client, "explain call put(1, 2)").await;
    assert!(explained.contains("Logging: command (") && explained.contains("the time"), "{explained}");
    client
        .batch_execute(
            "create procedure stays() language plpgsql as $$
             begin perform 1; exception when query_canceled then insert into t values (1, 1); end $$;
             create procedure clock() language plpgsql as $$ begin perform clock_timestamp(); end $$",
        )
        .await
        .unwrap();
    for (call, why) in
        [("stays()", "data (it catches that it is cancelled"), ("clock()", "data (it asks for the time")]
    {
        let explained = second_line(&client, &format!("explain call {call}")).await;
        assert!(explained.contains(why), "{explained}");
    }
    assert!(
        second_line(&client, "begin; explain call put(1, 2); rollback")
            .await
            .contains("data (in a transaction block")
    );
    for n in 0..30 {
        let logging = ["auto", "command", "data"][n % 3];
        client
            .batch_execute(&format!("set hyades.logging = {logging}; call put({n}, {})", n % 7))
            .await
            .unwrap();
        client.batch_execute(&format!("call put({n}, {})", n % 5)).await.unwrap();
    }
    let all =
        "select count(*) || ' ' || sum(v) || ' ' || max(at) || ' ' || sum(dice) || ' ' || sum(id) from t";
    let before = value_of(&client, all).await;
    drop(client);
    server.signal("KILL");
    let (_, _, _, directory) = server.wait();
    let server = Server::start_in(directory, &[]);
    let client = connect(&server).await;
    assert_eq!(value_of(&client, all).await, before);
    client.batch_execute("call put(31, 3)").await.unwrap();
}
