package targetgroups

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/targets"
)

// KnownTarget is a row of the view jobs.targets: a database over runs.
type KnownTarget struct {
	ID          uuid.UUID `db:"target_id"`
	Server      string    `db:"server_name"`
	Database    string    `db:"database_name"`
	ElasticPool string    `db:"elastic_pool_name"`
	// FirstSeen is zero if no list of targets has had the database yet, but it has tags. LastSeen
	// is right to within an hour.
	FirstSeen time.Time `db:"first_seen_time"`
	LastSeen  time.Time `db:"last_seen_time"`
	// Gone is since when no target group resolves it any more; zero if one does, or none ever has.
	Gone   time.Time `db:"gone_time"`
	IsGone bool      `db:"is_gone"`
	// Tags is a JSON object of texts.
	Tags string `db:"tags"`
	// Paused is since when nothing starts on it; zero if it is not paused. PauseEnd is when that
	// ends by itself, or zero.
	Paused      time.Time `db:"paused_time"`
	PauseEnd    time.Time `db:"pause_end_time"`
	PauseReason string    `db:"pause_reason"`
	// Windows is a JSON array of the names of the windows that apply to it; empty if they were not
	// asked for.
	Windows string `db:"windows"`
}

// KnownTargetFilter says which databases to list. Empty fields do not restrict.
type KnownTargetFilter struct {
	// TagFilter is a filter of tags, and Group the name of a target group that had the databases in
	// its last list.
	TagFilter, Group string
	// ID is that of the only database.
	ID uuid.UUID
	// Gone is whether they are gone, of the group if there is one.
	Gone *bool
	// Name is a part of the name of server or database, with the wildcards * and ?.
	Name string
	// After is the last database of the page before, by its names.
	After targets.Target
	// Top is the maximum number of databases, up to [MaxKnownTargets].
	Top int
	// Windows says that their windows are asked for, which costs a look at each window for each of
	// the databases.
	Windows bool
}

// MaxKnownTargets is the largest number of databases that one call lists.
const MaxKnownTargets = 10_000

// KnownTargets lists databases in the order of their servers and names.
func (s Store) KnownTargets(ctx context.Context, f KnownTargetFilter) ([]KnownTarget, error) {
	c := call.New("jobs.sp_get_targets").OptText("tag_filter", f.TagFilter).OptText("target_group_name", f.Group).
		OptText("name", f.Name).OptText("after_server", f.After.Server).In("top", int64(f.Top))
	if f.After.Server != "" {
		c.In("after_database", f.After.Database)
	}
	if f.ID != uuid.Nil {
		c.In("target_id", f.ID)
	}
	if f.Windows {
		c.In("windows", true)
	}
	var list []KnownTarget
	err := s.conn.Query(ctx, "list databases", call.Opt(c, "gone", f.Gone), call.Into(&list))
	return list, err
}

// WindowNames returns the names in Windows.
func (t KnownTarget) WindowNames() ([]string, error) {
	names := []string{}
	if t.Windows == "" {
		return names, nil
	}
	if err := json.Unmarshal([]byte(t.Windows), &names); err != nil {
		return nil, fmt.Errorf("read the windows of %s/%s: %w", t.Server, t.Database, err)
	}
	return names, nil
}

// Target is a row of the view jobs.target_group_targets: a database that a list of targets of
// a group had.
type Target struct {
	ID       uuid.UUID `db:"target_id"`
	Server   string    `db:"server_name"`
	Database string    `db:"database_name"`
	// IsGone is whether the last list does not have it; Resolved is when that list was made.
	IsGone   bool      `db:"is_gone"`
	Resolved time.Time `db:"resolved_time"`
}

// Targets lists the databases that lists of targets of a group had, in the order of their
// servers and names. The list is empty if no run has resolved the group to a database yet, or the
// group does not exist.
func (s Store) Targets(ctx context.Context, group string) ([]Target, error) {
	return call.SelectAll[Target](ctx, s.conn, "list databases of target group",
		`SELECT target_id, server_name, database_name, is_gone, resolved_time
FROM jobs.target_group_targets
WHERE target_group_name = @p1
ORDER BY server_name, database_name, target_id;`, group)
}

// TaggedTargets lists the databases for which a member of the kind Tag stands now, as agents get
// them.
func (s Store) TaggedTargets(ctx context.Context, m targets.Member) ([]targets.Target, error) {
	f := KnownTargetFilter{TagFilter: m.TagFilter, Top: MaxKnownTargets}
	if m.Membership == targets.Include || m.Membership == "" {
		f.Gone = new(bool)
	}
	var all []targets.Target
	for {
		list, err := s.KnownTargets(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, t := range list {
			all = append(all, targets.Target{Server: t.Server, Database: t.Database})
		}
		if len(list) < f.Top {
			return all, nil
		}
		f.After = all[len(all)-1]
	}
}

// MaxTargetTags is the largest number of databases whose tags one call sets.
const MaxTargetTags = 5000

// TargetTags is what is to be set of the tags of a database.
type TargetTags struct {
	// Target is the ID of the database. It may be zero if the names are of ASCII, or the database
	// is known; the names may be empty if it is known.
	Target   uuid.UUID
	Server   string
	Database string
	// Tags are the values by name; nil removes a tag.
	Tags map[string]*string
}

// SetTags sets tags of at most [MaxTargetTags] databases in one transaction. replace removes
// all tags of these databases that are not named. It returns the number of databases whose tags
// have changed.
func (s Store) SetTags(ctx context.Context, list []TargetTags, replace bool) (changed int, err error) {
	text, err := tagsJSON(list)
	if err != nil {
		return 0, err
	}
	c := call.New("jobs.sp_set_target_tags").In("list", text).In("replace", replace).Out("changed", &changed)
	err = s.conn.Exec(ctx, "set tags of databases", c)
	return changed, err
}

// queryTagsPerCall is the number of databases of a call of jobs_internal.set_query_tags: each may
// have 50 tags, and a call 50,000.
const queryTagsPerCall = 1000

// SetQueryTags gives databases the tags that queries of a target group have returned, while the
// term holds the resolution of the group. Otherwise it has no effect.
func (s Store) SetQueryTags(ctx context.Context, term controldb.TermID, task controldb.TaskID, tags []targets.Tags) error {
	for part := range slices.Chunk(tags, queryTagsPerCall) {
		list := make([]TargetTags, 0, len(part))
		for _, t := range part {
			list = append(list, TargetTags{Target: t.Target.ID, Server: t.Target.Server, Database: t.Target.Database, Tags: t.Values})
		}
		text, err := tagsJSON(list)
		if err != nil {
			return err
		}
		c := controldb.ForTerm(call.New("jobs_internal.set_query_tags"), term).In("task_id", int64(task)).In("list", text)
		if err := s.conn.Exec(ctx, "set tags of a query", c); err != nil {
			return err
		}
	}
	return nil
}

// tagsJSON writes tags as the procedures take them.
func tagsJSON(list []TargetTags) (string, error) {
	type element struct {
		Target   *uuid.UUID         `json:"target_id,omitempty"`
		Server   string             `json:"server_name,omitempty"`
		Database string             `json:"database_name,omitempty"`
		Tags     map[string]*string `json:"tags"`
	}
	elements := make([]element, 0, len(list))
	for _, t := range list {
		e := element{Server: t.Server, Database: t.Database, Tags: t.Tags}
		if t.Target != uuid.Nil {
			e.Target = &t.Target
		}
		if e.Tags == nil {
			e.Tags = map[string]*string{}
		}
		elements = append(elements, e)
	}
	text, err := json.Marshal(elements)
	if err != nil {
		return "", fmt.Errorf("set tags of databases: %w", err)
	}
	return string(text), nil
}
