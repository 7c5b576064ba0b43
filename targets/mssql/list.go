package mssql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

const (
	// listLimit bounds the listing of one member. A resolution has no time limit of its own, and a
	// server that does not answer must not block a worker.
	listLimit = 2 * time.Minute
	// maxListed is "Databases per instance of SQL Server" in SQL Server's capacity specifications.
	maxListed = 32_767
	// maxListedBytes bounds the total length of the names in a list.
	maxListedBytes = 4 << 20
	// maxName is the number of characters of a sysname.
	maxName = 128
)

// errListTimeout is the cause of a listing that took longer than listLimit.
var errListTimeout = fmt.Errorf("no list within %s: %w", listLimit, context.DeadlineExceeded)

// listing collects the databases that a server lists. The server may be hostile.
type listing struct {
	found []targets.Target
	bytes int
}

// add adds a database. The error is the reason why the database, or the list, is implausible.
func (l *listing) add(t targets.Target) error {
	for _, name := range []string{t.Server, t.Database, t.ElasticPool} {
		if n := utf8.RuneCountInString(name); n > maxName {
			return fmt.Errorf("list the databases: the server sent a name of %d characters, want at most %d", n, maxName)
		}
		l.bytes += len(name)
	}
	if len(l.found) == maxListed || l.bytes > maxListedBytes {
		return fmt.Errorf("list the databases: the server sent more than %d databases, or names of more than %d bytes",
			maxListed, maxListedBytes)
	}
	l.found = append(l.found, t)
	return nil
}

// listServer lists the online user databases of a server, or of an elastic pool on it.
func (r *Resolver) listServer(ctx context.Context, m targets.Member) ([]targets.Target, error) {
	db, release, err := r.servers.borrow(ctx, m.Server, "master", m.RefreshCredential, false)
	if err != nil {
		return nil, fmt.Errorf("connect to %s/master: %w", m.Server, err)
	}
	defer release()
	var edition int
	var self string
	if err := db.QueryRowContext(ctx, aboutServer).Scan(&edition, &self); err != nil {
		return nil, fmt.Errorf("connect to %s/master: %w", m.Server, err)
	}
	query := userDatabases
	if edition == engineAzureDatabase {
		query = azureDatabases
	} else if m.Kind == targets.SQLElasticPool {
		return nil, fmt.Errorf("elastic pools exist on Azure SQL Database only; server %s is of engine edition %d",
			m.Server, edition)
	}
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("list the databases: %w", err)
	}
	defer rows.Close()
	var list listing
	for rows.Next() {
		var name string
		var pool, guid sql.NullString
		if err := rows.Scan(&name, &pool, &guid); err != nil {
			return nil, fmt.Errorf("list the databases: %w", err)
		}
		isControl := r.control.matches(self, name, guid.String)
		inPool := m.Kind != targets.SQLElasticPool || targets.FoldName(pool.String) == targets.FoldName(m.ElasticPool)
		if !isControl && inPool {
			t := targets.Target{Server: strings.TrimSpace(m.Server), Database: name, ElasticPool: pool.String}
			if err := list.add(t); err != nil {
				return nil, err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list the databases: %w", err)
	}
	return list.found, nil
}

// listShardMap lists the databases of a shard map. It reads the tables of the shard map manager,
// which the elastic database client library keeps in the schema __ShardManagement.
func (r *Resolver) listShardMap(ctx context.Context, m targets.Member) ([]targets.Target, error) {
	db, release, err := r.servers.borrow(ctx, m.Server, m.Database, m.RefreshCredential, false)
	if err != nil {
		return nil, fmt.Errorf("connect to %s/%s: %w", m.Server, m.Database, err)
	}
	defer release()
	var count int
	if err := db.QueryRowContext(ctx, shardMap, sql.Named("name", m.ShardMap)).Scan(&count); err != nil {
		return nil, fmt.Errorf("look for the shard map: %w", err)
	}
	if count == 0 {
		return nil, fmt.Errorf("the shard map manager %s/%s has no shard map %q", m.Server, m.Database, m.ShardMap)
	}
	rows, err := db.QueryContext(ctx, shards, sql.Named("name", m.ShardMap))
	if err != nil {
		return nil, fmt.Errorf("list the shards: %w", err)
	}
	defer rows.Close()
	var list listing
	for rows.Next() {
		var server, database string
		var port int
		if err := rows.Scan(&server, &port, &database); err != nil {
			return nil, fmt.Errorf("list the shards: %w", err)
		}
		if port != 0 {
			server = fmt.Sprintf("%s,%d", server, port)
		}
		if err := list.add(targets.Target{Server: server, Database: database}); err != nil {
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list the shards: %w", err)
	}
	return list.found, nil
}

// listQuery lists the databases that the query of a member returns. The batch is text of a job's
// author: it runs in a session that may not enter the control database (I13), in a transaction that
// is rolled back, and the session is not used again. tags has the values of the columns tag_NAME
// for each database; columns of other names have no effect.
func (r *Resolver) listQuery(ctx context.Context, m targets.Member) (found []targets.Target, tags []targets.Tags, err error) {
	conn, release, err := r.servers.borrow(ctx, m.Server, m.Database, m.RefreshCredential, true)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to %s/%s: %w", m.Server, m.Database, err)
	}
	defer release()
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }() // database/sql drops the session
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to %s/%s: %w", m.Server, m.Database, err)
	}
	defer func() { _ = tx.Rollback() }() // the batch may have ended the transaction
	rows, err := tx.QueryContext(ctx, m.Query)
	if err != nil {
		return nil, nil, fmt.Errorf("run the query: %w", err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, nil, fmt.Errorf("run the query: %w", err)
	}
	var server, database sql.NullString
	into := make([]any, len(names))
	for i := range into {
		into[i] = new(any)
	}
	place := func(name string) int {
		return slices.IndexFunc(names, func(n string) bool { return targets.FoldName(n) == name })
	}
	at := place("database_name")
	if at < 0 {
		return nil, nil, errors.New("the query returns no column database_name")
	}
	into[at] = &database
	if at := place("server_name"); at >= 0 {
		into[at] = &server
	}
	columns, err := tagColumns(names, into)
	if err != nil {
		return nil, nil, err
	}
	var list listing
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, nil, fmt.Errorf("read the databases that the query returns: %w", err)
		}
		t := targets.Target{Server: strings.TrimSpace(server.String), Database: strings.TrimSpace(database.String)}
		if t.Server == "" {
			t.Server = strings.TrimSpace(m.Server)
		}
		if err := checkListed(t); err != nil {
			return nil, nil, fmt.Errorf("row %d that the query returns: %w", len(list.found)+1, err)
		}
		if err := list.add(t); err != nil {
			return nil, nil, err
		}
		if len(columns) == 0 {
			continue
		}
		of := targets.Tags{Target: t, Values: make(map[string]*string, len(columns))}
		for _, c := range columns {
			if of.Values[c.name], err = c.value(); err != nil {
				return nil, nil, fmt.Errorf("row %d that the query returns: %w", len(list.found), err)
			}
		}
		tags = append(tags, of)
	}
	if err := rows.Err(); err != nil {
		return nil, nil, fmt.Errorf("read the databases that the query returns: %w", err)
	}
	if rows.NextResultSet() {
		return nil, nil, errors.New("the query returns more than one result set: want one")
	}
	if err := rows.Err(); err != nil {
		return nil, nil, fmt.Errorf("run the query: %w", err)
	}
	return list.found, tags, nil
}

// checkListed checks the names of a database that a query returns.
func checkListed(t targets.Target) error {
	if t.Database == "" {
		return errors.New("the column database_name is NULL or empty")
	}
	for _, name := range []string{t.Server, t.Database} {
		if err := jobs.CheckVisible(name); err != nil {
			return err
		}
	}
	if err := targets.CheckServer(t.Server); err != nil {
		return fmt.Errorf("invalid server_name %q: %w", t.Server, err)
	}
	return nil
}
