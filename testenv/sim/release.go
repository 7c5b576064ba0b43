package sim

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"strings"

	"github.com/jobagent/jobagent/controldb"
	sqlfs "github.com/jobagent/jobagent/sql"
)

// change replaces one part of a text by another one.
type change struct{ part, by string }

// laterCall adds a parameter and a result set to a procedure.
var laterCall = []change{
	{"\nAS\nBEGIN", ",\n    @later INT = NULL\nAS\nBEGIN"},
	{"\n    RETURN 0;\nEND;", "\n    SELECT 1 AS later;\n    RETURN 0;\nEND;"},
}

// laterRelease has the changes of the procedures that agents call and that return result sets.
var laterRelease = map[string][]change{
	"jobs_internal.start_term": laterCall,
	"jobs_internal.controller_pass": append([]change{
		{"\n    FROM (\n        SELECT DISTINCT k.step_execution_id", ",\n        1 AS later\n    FROM (\n        SELECT DISTINCT k.step_execution_id"},
	}, laterCall...),
	"jobs_internal.complete_tasks":      laterCall,
	"jobs_internal.complete_resolution": laterCall,
	"jobs_internal.get_command":         laterCall,
	"jobs_internal.due_schedules":       laterCall,
	"jobs_internal.fire_schedules":      laterCall,
}

// protocols is the view with the protocols that a release supports.
const protocols = "jobs_internal.agent_protocols"

// DeployLaterRelease replaces procedures like the deployment of a later release. Each procedure
// that agents call gets one more parameter and one more result set, and some result sets get one
// more column. The release supports agents of the protocols oldest to newest.
// [deploy.Store.Migrate] refuses to undo it; ReturnToThisRelease does.
func DeployLaterRelease(ctx context.Context, db *sql.DB, oldest, newest int) error {
	release := maps.Clone(laterRelease)
	release[protocols] = []change{
		{"1 AS oldest", fmt.Sprintf("%d AS oldest", oldest)},
		{fmt.Sprintf("%d AS newest", controldb.AgentProtocol), fmt.Sprintf("%d AS newest", newest)},
	}
	return deploy(ctx, db, func(o sqlfs.Object) (string, error) {
		text := o.Text
		for _, c := range release[o.Name] {
			if n := strings.Count(text, c.part); n != 1 {
				return "", fmt.Errorf("the text of %s has %q %d times, not once", o.Name, c.part, n)
			}
			text = strings.Replace(text, c.part, c.by, 1)
		}
		return text, nil
	})
}

// ReturnToThisRelease deploys this program's procedures.
func ReturnToThisRelease(ctx context.Context, db *sql.DB) error {
	return deploy(ctx, db, func(o sqlfs.Object) (string, error) { return o.Text, nil })
}

// deploy executes the changed texts in one transaction, like a deployment, and records their hashes
// as changed.
func deploy(ctx context.Context, db *sql.DB, changed func(sqlfs.Object) (string, error)) error {
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
		text, err := changed(o)
		if err != nil {
			return err
		}
		sha := o.SHA256
		if text != o.Text {
			sha = strings.Repeat("f", 64)
		}
		if o.Name == protocols || laterRelease[o.Name] != nil {
			if _, err := tx.ExecContext(ctx, text); err != nil {
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
