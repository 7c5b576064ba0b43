package output

import (
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/holds"
)

// KnownTarget is a database that target groups were resolved to, or that has tags. Its fields are
// those of the view jobs.targets.
type KnownTarget struct {
	Server      string `json:"server_name"`
	Database    string `json:"database_name"`
	ElasticPool string `json:"elastic_pool_name,omitempty"`
	// Tags are in the order of their names.
	Tags      []TargetTag `json:"tags"`
	FirstSeen *time.Time  `json:"first_seen_time,omitempty"`
	LastSeen  *time.Time  `json:"last_seen_time,omitempty"` // to within an hour
	IsGone    bool        `json:"is_gone"`                  // no target group resolves it any more
	Gone      *time.Time  `json:"gone_time,omitempty"`
	// Paused is absent if it is not paused, and PauseEnd if somebody has to end the pause.
	Paused      *time.Time `json:"paused_time,omitempty"`
	PauseEnd    *time.Time `json:"pause_end_time,omitempty"`
	PauseReason string     `json:"pause_reason,omitempty"`
	// Windows are the names of those that apply to it.
	Windows []string  `json:"windows"`
	ID      uuid.UUID `json:"target_id"`
}

// TargetTag is a tag of a database.
type TargetTag struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ChangedTags says how many databases have other tags than before.
type ChangedTags struct {
	Changed   int `json:"changed"`
	Databases int `json:"databases"` // that were named
}

// PausedTarget is a database on which nothing starts. Its fields are those of the view
// jobs.target_pauses.
type PausedTarget struct{ holds.Pause }

// TargetWindow says when attempts may start on databases. Its fields are those of the view
// jobs.target_windows.
type TargetWindow struct{ holds.Window }

// WindowName names a window of databases.
type WindowName struct {
	Name string `json:"window_name"`
}

// Pause is the document of `jobagent db pause` and `jobagent db resume`.
type Pause struct {
	Paused      bool       `json:"paused"`
	Since       *time.Time `json:"paused_time"`
	By          string     `json:"paused_by"`
	Reason      string     `json:"pause_reason"`
	SkipUntil   *time.Time `json:"skip_until"`
	Incarnation uuid.UUID  `json:"incarnation"`
}
