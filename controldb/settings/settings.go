package settings

import (
	"context"
	"time"

	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Setting is a row of the view jobs.settings: a setting of the whole system.
type Setting struct {
	Name    string `db:"name"`
	Value   int    `db:"value"`
	Default int    `db:"default_value"`
	Lowest  int    `db:"lowest_value"`
	Highest int    `db:"highest_value"`
	// IsDefault says that the setting was not set.
	IsDefault bool `db:"is_default"`
	// Meaning says in a sentence what the setting does, with its unit.
	Meaning string    `db:"meaning"`
	Updated time.Time `db:"updated_time"`
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
