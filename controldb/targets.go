package controldb

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
)

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

// SetTargetTags sets tags of at most [MaxTargetTags] databases in one transaction. replace removes
// all tags of these databases that are not named. It returns the number of databases whose tags
// have changed.
func (s *Store) SetTargetTags(ctx context.Context, list []TargetTags, replace bool) (changed int, err error) {
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
		return 0, fmt.Errorf("set tags of databases: %w", err)
	}
	c := newCall("jobs.sp_set_target_tags").in("list", string(text)).in("replace", replace).out("changed", &changed)
	err = s.exec(ctx, "set tags of databases", c)
	return changed, err
}
