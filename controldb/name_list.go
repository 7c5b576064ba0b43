package controldb

import (
	"encoding/json"
	"fmt"
)

// NameList is a list of names of steps or jobs. The database holds them as a JSON array, and nil as
// NULL.
type NameList []string

// Scan implements [sql.Scanner].
func (n *NameList) Scan(value any) error {
	switch v := value.(type) {
	case nil:
		*n = nil
		return nil
	case string:
		return json.Unmarshal([]byte(v), n)
	default:
		return fmt.Errorf("invalid names of type %T: want a text", value)
	}
}
