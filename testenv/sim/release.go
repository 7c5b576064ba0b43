package sim

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/controldb"
	sqlfs "github.com/jobagent/jobagent/sql"
)

// laterCalls lists the procedures that agents call and that return result sets.
var laterCalls = []string{
	"jobs_internal.start_term", "jobs_internal.controller_pass", "jobs_internal.complete_tasks", "jobs_internal.complete_resolution",
	"jobs_internal.get_command", "jobs_internal.due_schedules", "jobs_internal.fire_schedules",
}

// DeployLaterRelease replaces procedures like the deployment of a later release. Each procedure
// that agents call gets one more parameter and one more result set, and some result sets get one
// more column. The release supports agents of the protocols oldest to newest.
// [controldb.Store.Migrate] refuses to undo it; ReturnToThisRelease does.
func DeployLaterRelease(ctx context.Context, db *sql.DB, oldest, newest int) error {
	return deploy(ctx, db, func(o sqlfs.Object) string {
		switch {
		case o.Name == "jobs_internal.agent_protocols":
			text := strings.Replace(o.Text, "1 AS oldest", fmt.Sprintf("%d AS oldest", oldest), 1)
			return strings.Replace(text, fmt.Sprintf("%d AS newest", controldb.AgentProtocol), fmt.Sprintf("%d AS newest", newest), 1)
		case slices.Contains(laterCalls, o.Name):
			text := strings.Replace(o.Text, "\nAS\nBEGIN", ",\n    @later INT = NULL\nAS\nBEGIN", 1)
			text = strings.Replace(text, "d.on_unknown_outcome\n    FROM", "d.on_unknown_outcome,\n        1 AS later\n    FROM", 1)
			end := strings.LastIndex(text, "    RETURN 0;")
			return text[:end] + "    SELECT 1 AS later;\n" + text[end:]
		default:
			return o.Text
		}
	})
}

// ReturnToThisRelease deploys this program's procedures.
func ReturnToThisRelease(ctx context.Context, db *sql.DB) error {
	return deploy(ctx, db, func(o sqlfs.Object) string { return o.Text })
}

// deploy executes the changed texts in one transaction, like a deployment, and records their hashes
// as changed.
func deploy(ctx context.Context, db *sql.DB, text func(sqlfs.Object) string) error {
	objects, err := sqlfs.Objects()
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("deploy a release: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	var recorded []string
	for _, o := range objects {
		if !o.Kind.IsCode() {
			continue
		}
		sha := o.SHA256
		if t := text(o); t != o.Text {
			sha = strings.Repeat("f", 64)
		}
		if o.Name == "jobs_internal.agent_protocols" || slices.Contains(laterCalls, o.Name) {
			if _, err := tx.ExecContext(ctx, text(o)); err != nil {
				return fmt.Errorf("deploy %s: %w", o.Name, err)
			}
		}
		recorded = append(recorded, fmt.Sprintf(`{"name": %q, "kind": %q, "sha256": %q}`, o.Name, o.Kind, sha))
	}
	if _, err := tx.ExecContext(ctx, "jobs_internal.record_deployment", sql.Named("objects", "["+strings.Join(recorded, ",")+"]")); err != nil {
		return fmt.Errorf("record the release: %w", err)
	}
	return tx.Commit()
}
