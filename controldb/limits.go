package controldb

import (
	"context"
	"time"
)

// LimitScope says what a limit on concurrent targets is a limit of.
type LimitScope string

// The scopes of limits.
const (
	LimitJob         LimitScope = "Job"
	LimitServer      LimitScope = "Server"
	LimitElasticPool LimitScope = "ElasticPool"
	LimitCredential  LimitScope = "Credential"
)

// Limit is a row of the view jobs.limits: how many targets may run at once.
type Limit struct {
	Scope LimitScope
	// Name is that of the job, server, pool or credential; "*" stands for all that have no limit of their own, each by
	// itself, and "(default)" for the agents' default credential.
	Name string
	// Server is an elastic pool's; empty for pools of this name on any server, and for other scopes.
	Server string
	// Max is the limit.
	Max int
	// Running and Waiting are the targets that the limit counts now, and those under it that could start. SetLimit ignores them.
	Running, Waiting int
	UpdatedAt        time.Time
}

// SetLimit sets a limit, or changes the one that there is.
func (s *Store) SetLimit(ctx context.Context, l Limit) error {
	return s.exec(ctx, "set the limit", limitCall(l).in("max_concurrent_targets", int64(l.Max)))
}

// RemoveLimit takes a limit away; only its scope, name and server count.
func (s *Store) RemoveLimit(ctx context.Context, l Limit) error {
	return s.exec(ctx, "remove the limit", limitCall(l))
}

func limitCall(l Limit) *call {
	return newCall("jobs.sp_set_limit").in("scope", string(l.Scope)).in("name", l.Name).optText("server_name", l.Server)
}

// Limits lists all limits, by scope and name.
func (s *Store) Limits(ctx context.Context) ([]Limit, error) {
	var rows []struct {
		Scope     string   `db:"scope"`
		Name      string   `db:"name"`
		Server    nullText `db:"server_name"`
		Max       int      `db:"max_concurrent_targets"`
		Running   int      `db:"running"`
		Waiting   int      `db:"waiting"`
		UpdatedAt nullTime `db:"updated_at"`
	}
	err := s.selectAll(ctx, "list limits", &rows, `SELECT scope, name, server_name, max_concurrent_targets, running, waiting, updated_at
FROM jobs.limits
ORDER BY scope, name, server_name;`)
	if err != nil {
		return nil, err
	}
	list := make([]Limit, 0, len(rows))
	for _, r := range rows {
		list = append(list, Limit{
			Scope: LimitScope(r.Scope), Name: r.Name, Server: string(r.Server), Max: r.Max, Running: r.Running, Waiting: r.Waiting,
			UpdatedAt: r.UpdatedAt.Time,
		})
	}
	return list, nil
}
