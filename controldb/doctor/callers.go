package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/tsql"
)

// roleUser is a user without login, as which a REST front makes calls.
type roleUser struct {
	Role string `db:"role_name"`
	User string `db:"user_name"`
	// There is true if the user exists, and Member if it is a member of the role.
	There  bool `db:"is_there"`
	Member bool `db:"is_member"`
	// May is true if the login may impersonate the user.
	May bool `db:"may_impersonate"`
	// Front is true if the login is a member of jobs_front.
	Front bool `db:"is_front"`
}

// readRoleUsers reads the users of the roles of callers.
func readRoleUsers(ctx context.Context, conn *sqlx.Conn) ([]roleUser, error) {
	return call.SelectRows[roleUser](ctx, conn, Text("callers"))
}

// checkCallers examines the users as which REST fronts make calls, and whether the login may.
func checkCallers(ctx context.Context, e *examination) ([]Finding, error) {
	user, err := currentUser(ctx, e.conn)
	if err != nil {
		return nil, err
	}
	users, err := readRoleUsers(ctx, e.conn)
	if err != nil {
		return nil, err
	}
	return callerFindings(user, users, e.sees), nil
}

// callerFindings derives the findings about the users of roles. Without sees, users on which the
// login has no permission seem to be missing.
func callerFindings(user string, users []roleUser, sees bool) []Finding {
	var missing, refused, fix, grant []string
	front := false
	for _, u := range users {
		front = front || u.Front
		if !u.There || !u.Member {
			missing = append(missing, u.User)
		}
		if !u.There {
			fix = append(fix, fixRoleUser(u.User))
		}
		if !u.Member {
			fix = append(fix, fixRole(u.Role, u.User))
		}
		if !u.May {
			refused = append(refused, u.User)
			grant = append(grant, fixImpersonate(u.User))
		}
	}
	switch {
	case sees && len(missing) > 0:
		return []Finding{{
			Code:     CodeCallers,
			Severity: SeverityError,
			Found:    fmt.Sprintf("users of roles are missing, or are not members of their roles: %s", strings.Join(missing, ", ")),
			Why:      "a REST front makes the calls of a caller as the user of the caller's role",
			SQL:      strings.Join(append(fix, grant...), "\n"),
		}}
	case front && len(refused) > 0:
		return []Finding{{
			Code:     CodeCallers,
			Severity: SeverityError,
			Found:    fmt.Sprintf("user %s may not impersonate %s, although it is a member of jobs_front", tsql.Name(user), strings.Join(refused, ", ")),
			Why:      "a REST front with this login refuses the calls of these roles",
			SQL:      strings.Join(grant, "\n"),
		}}
	case front:
		return []Finding{good(CodeCallers, "user %s may make the calls of a REST front", tsql.Name(user))}
	}
	return []Finding{good(CodeCallers, "user %s cannot make the calls of a REST front: it is not a member of jobs_front", tsql.Name(user))}
}
