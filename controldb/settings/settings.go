package settings

import (
	"context"
	"time"

	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Setting is a setting of the whole system. Its fields are those of the view jobs.settings.
type Setting struct {
	Name      string `db:"name" json:"name"`
	Value     int    `db:"value" json:"value"`
	Default   int    `db:"default_value" json:"default_value"`
	Lowest    int    `db:"lowest_value" json:"lowest_value"`
	Highest   int    `db:"highest_value" json:"highest_value"`
	IsDefault bool   `db:"is_default" json:"is_default"` // it was not set
	// Meaning says in a sentence what the setting does, with its unit.
	Meaning string    `db:"meaning" json:"meaning"`
	Updated time.Time `db:"updated_time" json:"updated_time,omitzero"`
}

// List lists all settings by name.
func (s Store) List(ctx context.Context) ([]Setting, error) {
	return call.SelectAll[Setting](ctx, s.conn, "list settings",
		`SELECT name, value, default_value, lowest_value, highest_value, is_default, meaning, updated_time
FROM jobs.settings
ORDER BY name;`)
}

// Set sets a setting, or with nil resets it to its default.
func (s Store) Set(ctx context.Context, name string, value *int) error {
	c := call.New("jobs.sp_set_setting").In("name", name)
	call.Opt(c, "value", value)
	return s.conn.Exec(ctx, "set the setting", c)
}
