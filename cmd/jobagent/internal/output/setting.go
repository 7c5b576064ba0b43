package output

import "time"

// Setting is a setting of the whole system. Its fields are those of the view jobs.settings.
type Setting struct {
	Name      string     `json:"name"`
	Value     int        `json:"value"`
	Default   int        `json:"default_value"`
	Lowest    int        `json:"lowest_value"`
	Highest   int        `json:"highest_value"`
	IsDefault bool       `json:"is_default"` // it was not set
	Meaning   string     `json:"meaning"`
	Updated   *time.Time `json:"updated_time,omitempty"`
}

// SettingName names a setting that was set or reset.
type SettingName struct {
	Name  string `json:"name"`
	Value *int   `json:"value"` // null: the default
}
