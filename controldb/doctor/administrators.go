package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/tsql"
)

const roleOwner = "db_owner"

// heldRole is a role that a user is a member of.
type heldRole struct {
	User string `db:"user_name"`
	Role string `db:"role_name"`
}

// checkAdministrators looks for users who can do everything in the control database by a fixed role
// of it, although they are not administrators by their other roles.
func checkAdministrators(ctx context.Context, e *examination) ([]Finding, error) {
	held, err := call.SelectRows[heldRole](ctx, e.conn, Text("administrators"))
	if err != nil {
		return nil, err
	}
	return administratorFindings(held), nil
}

// administratorFindings derives the findings about the members of fixed roles. A member of db_owner
// is an administrator, unless a role of jobagent says otherwise: whoever has a lesser role is not
// meant to have all rights.
func administratorFindings(held []heldRole) []Finding {
	roles := map[string][]string{} // by user
	var users, owners []string
	for _, h := range held {
		if _, known := roles[h.User]; !known {
			users = append(users, h.User)
		}
		roles[h.User] = append(roles[h.User], h.Role)
	}
	var found []Finding
	for _, user := range users {
		of := roles[user]
		fixed := slices.DeleteFunc(slices.Clone(of), func(role string) bool { return !strings.HasPrefix(role, "db_") })
		lesser := slices.ContainsFunc(of, func(role string) bool { return strings.HasPrefix(role, "jobs_") && role != "jobs_admin" })
		owner := slices.Contains(fixed, roleOwner)
		switch {
		case len(fixed) == 0:
			continue
		case owner && !lesser:
			owners = append(owners, tsql.Name(user))
			continue
		}
		var drop []string
		for _, role := range fixed {
			drop = append(drop, fixRoleMember(role, user))
		}
		found = append(found, Finding{
			Code: CodeAdministrators, Severity: SeverityWarning,
			Found: fmt.Sprintf("user %s is a member of %s", tsql.Name(user), strings.Join(fixed, ", ")),
			Why: "such a member can do what an administrator of the control database can: replace procedures, add triggers, read and change all tables, " +
				"take roles",
			SQL: strings.Join(drop, "\n"),
		})
	}
	if len(found) > 0 {
		return found
	}
	if len(owners) == 0 {
		return []Finding{good(CodeAdministrators, "nobody but the owner of the database is its administrator by a fixed role of the database")}
	}
	return []Finding{good(CodeAdministrators, "administrators of the database by the role db_owner: %s", strings.Join(owners, ", "))}
}
