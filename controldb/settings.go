package controldb

import (
	"context"
	"time"
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

// Settings lists all settings by name.
func (s *Store) Settings(ctx context.Context) ([]Setting, error) {
	return selectAll[Setting](ctx, s, "list settings",
		`SELECT name, value, default_value, lowest_value, highest_value, is_default, meaning, updated_time
FROM jobs.settings
ORDER BY name;`)
}

// SetSetting sets a setting, or with nil resets it to its default.
func (s *Store) SetSetting(ctx context.Context, name string, value *int) error {
	c := newCall("jobs.sp_set_setting").in("name", name)
	opt(c, "value", value)
	return s.exec(ctx, "set the setting", c)
}
