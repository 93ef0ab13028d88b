-- What the sweeper asks for: the streams that nobody feeds any more.
create index messages_streaming on messages (touched_at) where status = 'streaming';
