package sqlfs

import (
	"fmt"
	"regexp"
	"strings"
)

// Grant is a permission of a role of jobagent.
type Grant struct {
	Permission string // such as "EXECUTE"
	// Class is OBJECT, SCHEMA or USER.
	Class string
	// Name is that of the object with its schema, of the schema or of the user.
	Name string
	Role string
}

var (
	grantStatement = regexp.MustCompile(`^GRANT ([A-Z]+) ON (OBJECT|SCHEMA|USER)::([\w.]+) TO (\w+);$`)
	anyGrant       = regexp.MustCompile(`(?i)^\s*GRANT\b`)
)

// Grants returns the permissions of all roles, as their files give them. Each is a line of a file.
func Grants() ([]Grant, error) {
	all, err := objects()
	if err != nil {
		return nil, err
	}
	var grants []Grant
	for _, o := range all {
		if o.Kind != KindRole {
			continue
		}
		for line := range strings.Lines(o.Text) {
			line = strings.TrimSpace(line)
			m := grantStatement.FindStringSubmatch(line)
			if m == nil {
				if anyGrant.MatchString(line) {
					return nil, fmt.Errorf("%s: invalid grant: want GRANT … ON OBJECT|SCHEMA|USER::… TO role; in one line, got %q", o.File, line)
				}
				continue
			}
			if m[4] != o.Name {
				return nil, fmt.Errorf("%s: a grant to another role: %s", o.File, m[4])
			}
			grants = append(grants, Grant{Permission: m[1], Class: m[2], Name: m[3], Role: m[4]})
		}
	}
	return grants, nil
}
