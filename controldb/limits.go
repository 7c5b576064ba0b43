package controldb

import (
	"context"
	"time"
)

// LimitScope is the kind of object whose concurrent targets are limited.
type LimitScope string

// The scopes of limits.
const (
	LimitJob         LimitScope = "Job"
	LimitServer      LimitScope = "Server"
	LimitElasticPool LimitScope = "ElasticPool"
	LimitCredential  LimitScope = "Credential"
	LimitAgent       LimitScope = "Agent" // all targets of the control database; its name is "*"
)

// Limit is a row of the view jobs.limits: how many targets may run at once.
type Limit struct {
	Scope LimitScope `db:"scope"`
	// Name is that of the job, server, pool or credential. "*" stands for all that have no limit of
	// their own, each counted by itself, and "(default)" for the agents' default credential.
	Name string `db:"name"`
	// Server is the elastic pool's server. It is empty for pools of this name on any server, and
	// for other scopes.
	Server string `db:"server_name"`
	// Max is the limit.
	Max int `db:"max_concurrent_targets"`
	// Running is how many targets the limit counts now, and Waiting how many more could start if it
	// allowed them to. SetLimit ignores both.
	Running   int       `db:"running"`
	Waiting   int       `db:"waiting"`
	UpdatedAt time.Time `db:"updated_at"`
}

// SetLimit creates or changes a limit.
func (s *Store) SetLimit(ctx context.Context, l Limit) error {
	return s.exec(ctx, "set the limit", limitCall(l).in("max_concurrent_targets", int64(l.Max)))
}

// RemoveLimit removes a limit. Only its scope, name and server are used.
func (s *Store) RemoveLimit(ctx context.Context, l Limit) error {
	return s.exec(ctx, "remove the limit", limitCall(l))
}

func limitCall(l Limit) *call {
	return newCall("jobs.sp_set_limit").in("scope", string(l.Scope)).in("name", l.Name).optText("server_name", l.Server)
}

// Limits lists all limits, by scope and name.
func (s *Store) Limits(ctx context.Context) ([]Limit, error) {
	return selectAll[Limit](
		ctx,
		s,
		"list limits",
		`SELECT scope, name, server_name, max_concurrent_targets, running, waiting, updated_at
FROM jobs.limits
ORDER BY scope, name, server_name;`)
}
