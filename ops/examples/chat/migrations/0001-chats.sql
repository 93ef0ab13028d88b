create table chats (
  id integer primary key,
  title text not null,
  created_at text not null default (datetime('now'))
);

create table messages (
  id integer primary key,
  chat_id integer not null references chats (id) on delete cascade,
  role text not null check (role in ('user', 'assistant')),
  text text not null default '',
  status text not null check (status in ('streaming', 'done', 'interrupted')),
  started_at integer not null,  -- unix seconds
  touched_at integer not null   -- unix seconds: when the stream last grew
);

create index messages_of_chat on messages (chat_id, id);
