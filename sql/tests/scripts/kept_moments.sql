-- Literals with a time zone in stored expressions were read in the zone of who wrote them.
set timezone = 'Asia/Tokyo';
create table ck (id int primary key, t timestamptz, constraint ck_t check (t + interval '1 day' > '2020-06-01 00:00'), constraint ck_in check (t not in ('1999-01-01', '1999-01-02')));
create table de (id int primary key, t timestamptz default '2020-06-01 00:00', many timestamptz[] default '{2020-06-01 00:00}', c timestamptz default timestamptz '2020-06-01 00:00', k timestamptz default coalesce(null::timestamptz, '2020-06-01 00:00'));
create function at(x timestamptz default '2020-06-01 00:00') returns timestamptz language sql as $$ select x $$;
set timezone = 'UTC';
insert into de (id) values (1);
select * from de;
select at();
insert into ck values (1, '2020-05-30 16:00+00');
insert into ck values (2, '2020-05-30 14:00+00');
insert into ck values (3, '1998-12-31 15:00+00');
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'ck'::regclass and contype = 'c' order by conname;
select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'de'::regclass and adnum = 2;
