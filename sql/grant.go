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

// calledBy matches the line in the header of a procedure that says who may call it.
var calledBy = regexp.MustCompile(`(?m)^-- Called by: +(members of the role (\w+)\.|agent/.*?)(, in agents and fronts\.)?$`)

// grantExecute adds to the text of each role the permission to execute the procedures that its
// members call according to the headers: people with a role, agents, and fronts. Schemas give no
// such permission, so that each is by name.
func grantExecute(all []Object) {
	grants := map[string]string{}
	for _, o := range all {
		m := calledBy.FindStringSubmatch(o.Text)
		if o.Kind != KindProcedure || m == nil {
			continue
		}
		roles := []string{m[2]}
		if m[2] == "" {
			roles = []string{"jobs_agent"}
		}
		if m[3] != "" {
			roles = append(roles, "jobs_front")
		}
		for _, role := range roles {
			grants[role] += fmt.Sprintf("GRANT EXECUTE ON OBJECT::%s TO %s;\n", o.Name, role)
		}
	}
	for i := range all {
		if o := &all[i]; o.Kind == KindRole && grants[o.Name] != "" {
			o.Text += grants[o.Name]
			o.SHA256 = hash([]byte(o.Text))
		}
	}
}

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
