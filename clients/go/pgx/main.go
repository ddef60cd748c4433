// pgx: prepared statements and their cache, binary types, batches, COPY, notifications, a pool.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func expect(is bool, what string) {
	if !is {
		log.Fatal("expected: ", what)
	}
}

func main() {
	log.SetFlags(log.Lshortfile)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, "")
	must(err)
	_, err = conn.Exec(ctx, `CREATE TABLE seat (id bigserial PRIMARY KEY, place text UNIQUE NOT NULL, price numeric(8,2),
		taken boolean DEFAULT false, at timestamptz, tags text[], note jsonb)`)
	must(err)
	now := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	var id int64
	must(conn.QueryRow(ctx, `INSERT INTO seat (place, price, at, tags, note) VALUES ($1, $2, $3, $4, $5) RETURNING id`,
		"a1", "12.50", now, []string{"x", "y"}, map[string]int{"n": 1}).Scan(&id))
	var tags []string
	var note map[string]int
	var at time.Time
	var price float64
	must(conn.QueryRow(ctx, `SELECT price, at, tags, note FROM seat WHERE id = $1`, id).Scan(&price, &at, &tags, &note))
	expect(price == 12.5 && at.Equal(now) && len(tags) == 2 && note["n"] == 1, "what was inserted")

	batch := &pgx.Batch{}
	for number := 0; number < 50; number++ {
		batch.Queue(`INSERT INTO seat (place) VALUES ($1)`, fmt.Sprint("b", number))
	}
	batch.Queue(`SELECT count(*) FROM seat`).QueryRow(func(row pgx.Row) error {
		var count int
		err := row.Scan(&count)
		expect(count == 51, "51 seats")
		return err
	})
	must(conn.SendBatch(ctx, batch).Close())
	copied, err := conn.CopyFrom(ctx, pgx.Identifier{"seat"}, []string{"place", "taken", "at"},
		pgx.CopyFromRows([][]any{{"c1", true, now}, {"c2", false, now}}))
	must(err)
	expect(copied == 2, "two rows copied")

	_, err = conn.Exec(ctx, `INSERT INTO seat (place) VALUES ('a1')`)
	failed, is := err.(*pgconn.PgError)
	expect(is && failed.Code == "23505" && failed.ConstraintName == "seat_place_key", "a unique violation")
	must(pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE seat SET taken = true WHERE place = $1`, "a1"); err != nil {
			return err
		}
		nested, err := tx.Begin(ctx)
		must(err)
		_, err = nested.Exec(ctx, `DELETE FROM seat`)
		must(err)
		return nested.Rollback(ctx)
	}))
	type seat struct {
		Place string
		Taken bool
	}
	rows, err := conn.Query(ctx, `SELECT place, taken FROM seat WHERE place = ANY($1) ORDER BY place`, []string{"a1", "c2"})
	must(err)
	seats, err := pgx.CollectRows(rows, pgx.RowToStructByName[seat])
	must(err)
	expect(len(seats) == 2 && seats[0].Taken && !seats[1].Taken, "a1 taken, c2 not")

	pool, err := pgxpool.New(ctx, "")
	must(err)
	_, err = conn.Exec(ctx, `LISTEN news`)
	must(err)
	_, err = pool.Exec(ctx, `SELECT pg_notify('news', $1)`, "hello")
	must(err)
	told, err := conn.WaitForNotification(ctx)
	must(err)
	expect(told.Payload == "hello", "hello")
	pool.Close()
	_, err = conn.Exec(ctx, `DROP TABLE seat`)
	must(err)
	must(conn.Close(ctx))
}
