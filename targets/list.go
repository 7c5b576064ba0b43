package targets

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// listServer lists the online user databases of a server, or those of them in an elastic pool.
func (r *Resolver) listServer(ctx context.Context, m Member) ([]Target, error) {
	db, err := r.servers.pool(m.Server, "master", m.RefreshCredential)
	if err != nil {
		return nil, err
	}
	var edition int
	var self string
	if err := db.QueryRowContext(ctx, aboutServer).Scan(&edition, &self); err != nil {
		return nil, fmt.Errorf("connect to %s/master: %w", m.Server, err)
	}
	query := userDatabases
	if edition == engineAzureDatabase {
		query = azureDatabases
	} else if m.Kind == SQLElasticPool {
		return nil, fmt.Errorf("elastic pools exist on Azure SQL Database only; server %s is of engine edition %d", m.Server, edition)
	}
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("list the databases: %w", err)
	}
	defer rows.Close()
	var found []Target
	for rows.Next() {
		var name string
		var pool sql.NullString
		if err := rows.Scan(&name, &pool); err != nil {
			return nil, fmt.Errorf("list the databases: %w", err)
		}
		isControl := fold(self) == fold(r.control.Server) && fold(name) == fold(r.control.Database)
		inPool := m.Kind != SQLElasticPool || fold(pool.String) == fold(m.ElasticPool)
		if !isControl && inPool {
			found = append(found, Target{Server: strings.TrimSpace(m.Server), Database: name, ElasticPool: pool.String})
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list the databases: %w", err)
	}
	return found, nil
}

// listShardMap lists the databases of a shard map, from the tables of its shard map manager: the
// elastic database client library keeps them in the schema __ShardManagement.
func (r *Resolver) listShardMap(ctx context.Context, m Member) ([]Target, error) {
	db, err := r.servers.pool(m.Server, m.Database, m.RefreshCredential)
	if err != nil {
		return nil, err
	}
	var maps int
	if err := db.QueryRowContext(ctx, shardMap, sql.Named("name", m.ShardMap)).Scan(&maps); err != nil {
		return nil, fmt.Errorf("look for the shard map: %w", err)
	}
	if maps == 0 {
		return nil, fmt.Errorf("the shard map manager %s/%s has no shard map %q", m.Server, m.Database, m.ShardMap)
	}
	rows, err := db.QueryContext(ctx, shards, sql.Named("name", m.ShardMap))
	if err != nil {
		return nil, fmt.Errorf("list the shards: %w", err)
	}
	defer rows.Close()
	var found []Target
	for rows.Next() {
		var server, database string
		var port int
		if err := rows.Scan(&server, &port, &database); err != nil {
			return nil, fmt.Errorf("list the shards: %w", err)
		}
		if port != 0 {
			server = fmt.Sprintf("%s,%d", server, port)
		}
		found = append(found, Target{Server: server, Database: database})
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list the shards: %w", err)
	}
	return found, nil
}
