-- Extensions: pgcrypto and uuid-ossp.
select extname from pg_extension order by 1;
create extension pgcrypto;
create extension pgcrypto;
create extension if not exists pgcrypto;
create extension if not exists "uuid-ossp";
create extension if not exists plpgsql with schema pg_catalog;
create extension plpgsql;
select extname, extversion, nspname from pg_extension e, pg_namespace n where n.oid = extnamespace order by 1;
select name, default_version, installed_version, comment from pg_available_extensions
 where name in ('pgcrypto', 'uuid-ossp', 'plpgsql') order by 1;

select digest('abc', 'sha256');
select digest('abc'::bytea, 'md5');
select encode(digest('abc', 'sha1'), 'hex'), length(digest('', 'sha512')), digest(null, 'sha1') is null;
select digest('abc', 'SHA224') = digest('abc', 'sha224'), length(digest('abc', 'sha384'));
select digest('abc', 'x');
select encode(hmac('message', 'key', 'sha256'), 'hex');
select hmac('message'::bytea, 'key'::bytea, 'md5');
select hmac('message', repeat('k', 300), 'sha512') = hmac('message'::bytea, repeat('k', 300)::bytea, 'sha512');
select hmac('message', 'key', 'y');
select crypt('secret', '$2a$06$RQiOJ.3ELirrXwxIZY8q0O');
select crypt('secret', crypt('secret', '$2a$04$RQiOJ.3ELirrXwxIZY8q0O'))
     = crypt('secret', '$2a$04$RQiOJ.3ELirrXwxIZY8q0O');
select crypt('other', '$2a$04$RQiOJ.3ELirrXwxIZY8q0O') = crypt('secret', '$2a$04$RQiOJ.3ELirrXwxIZY8q0O');
select length(gen_salt('bf')), left(gen_salt('bf'), 7), left(gen_salt('bf', 8), 7), left(gen_salt('bf', 0), 7);
select gen_salt('bf', 3);
select gen_salt('bf', 32);
select gen_salt('zz');
select length(gen_random_bytes(16)), gen_random_bytes(8) = gen_random_bytes(8);
select gen_random_bytes(0);
select gen_random_bytes(1025);
select length(gen_random_uuid()::text);

select uuid_nil(), uuid_ns_dns();
select uuid_ns_url(), uuid_ns_oid(), uuid_ns_x500();
select uuid_generate_v3(uuid_ns_url(), 'http://www.postgresql.org');
select uuid_generate_v5(uuid_ns_url(), 'http://www.postgresql.org');
select substr(uuid_generate_v4()::text, 15, 1), substr(uuid_generate_v1()::text, 15, 1);
select uuid_generate_v1() = uuid_generate_v1(), substr(uuid_generate_v1mc()::text, 15, 1);

create table accounts (id uuid primary key default uuid_generate_v4(), name text, hash text);
insert into accounts (name, hash) values ('ann', crypt('one', gen_salt('bf', 4)));
select name, hash = crypt('one', hash), hash = crypt('two', hash) from accounts;
drop extension "uuid-ossp";
drop function digest(text, text);
select name from accounts where digest(name, 'sha256') = digest('ann', 'sha256');

drop extension if exists nothing_known;
drop extension nothing_known;
drop table accounts;
drop extension "uuid-ossp", pgcrypto;
select extname from pg_extension order by 1;
select digest('abc', 'sha1');

create schema tools;
create extension pgcrypto with schema tools version '1.3';
select encode(tools.digest('abc', 'sha1'), 'hex');
select digest('abc', 'sha1');
set search_path to public, tools;
select encode(digest('abc', 'sha1'), 'hex');
drop schema tools;
drop schema tools cascade;
select extname from pg_extension order by 1;
reset search_path;
create extension pgcrypto schema nowhere;
begin;
create extension pgcrypto;
rollback;
select extname from pg_extension order by 1;
comment on extension plpgsql is 'PL/pgSQL procedural language';
