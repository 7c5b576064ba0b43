package output

import "time"

// Account is a job agent (account) of a control database.
type Account struct {
	Name        string       `json:"name"`
	Database    string       `json:"database"` // name of the control database in the configuration
	State       string       `json:"state"`    // Creating, Ready, Updating, Disabled, Faulted or Deleting; Unavailable: its database does not answer
	Implicit    bool         `json:"is_implicit"`
	SKU         string       `json:"sku"`
	Capacity    int          `json:"capacity"`
	Location    string       `json:"location,omitempty"`
	Identity    string       `json:"identity,omitempty"`
	Tags        []AccountTag `json:"tags"`
	Reason      string       `json:"reason,omitempty"` // of Disabled, Faulted and Unavailable
	DisabledBy  string       `json:"disabled_by,omitempty"`
	CreatedTime *time.Time   `json:"created_time,omitempty"`
	ChangedTime *time.Time   `json:"changed_time,omitempty"`
}

// AccountTag is a tag of an account.
type AccountTag struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// AccountName names an account that was deleted.
type AccountName struct {
	Name     string `json:"name"`
	Database string `json:"database"`
	State    string `json:"state"` // Deleted, or Deleting with --no-wait
}
