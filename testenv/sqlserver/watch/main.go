// Command watch waits for a SQL Server, and collects the deadlocks and lock escalations of a test
// run on it.
//
//	go run ./testenv/sqlserver/watch wait          # waits at most three minutes for the server; prints its version
//	go run ./testenv/sqlserver/watch start FILE    # starts the Extended Events session; writes the server's time to FILE
//	go run ./testenv/sqlserver/watch check FILE DIR   # waits until events are written; prints those since; writes graphs to DIR
//	go run ./testenv/sqlserver/watch plans DIR        # until interrupted, collects the plans of our modules; writes plans, costs and waits to DIR
//
// JOBAGENT_TEST_DSN names the server. check exits with status 1 if there is an event, and plans if
// a plan has what no frequent statement may have (sqlserver.Examine) and
// testenv/sqlserver/expected_plans.txt does not list. Without Extended Events (on the embedded
// server) the commands print one line and succeed.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/testenv/sqlserver"
)

// waitLimit is the time limit for a server to start. At its first start, a container upgrades its
// databases.
const waitLimit = 3 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if errors.Is(err, sqlserver.ErrNoEvents) {
		fmt.Println("skipped:", err)
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "watch:", err)
		os.Exit(1)
	}
}

// run runs a subcommand.
func run(ctx context.Context, args []string) error {
	dsn := os.Getenv("JOBAGENT_TEST_DSN")
	if dsn == "" {
		return errors.New("JOBAGENT_TEST_DSN is not set")
	}
	db, err := sql.Open("sqlserver", dsn)
	if err != nil {
		return errors.New("invalid connection string in JOBAGENT_TEST_DSN") // the error may repeat the password
	}
	defer db.Close()
	switch {
	case len(args) == 1 && args[0] == "wait":
		return wait(ctx, db)
	case len(args) == 2 && args[0] == "start":
		now, err := sqlserver.Now(ctx, db)
		if err != nil {
			return err
		}
		if err := os.WriteFile(args[1], []byte(now.Format(time.RFC3339Nano)), 0o600); err != nil {
			return err
		}
		return sqlserver.Start(ctx, db)
	case len(args) == 3 && args[0] == "check":
		text, err := os.ReadFile(args[1])
		if err != nil {
			return err
		}
		since, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(string(text)))
		if err != nil {
			return err
		}
		return check(ctx, db, since, args[2])
	case len(args) == 2 && args[0] == "plans":
		return plans(ctx, db, args[1])
	}
	return errors.New("usage: watch wait | start FILE | check FILE DIR | plans DIR")
}

// wait pings until the server answers, and prints its version.
func wait(ctx context.Context, db *sql.DB) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	retry := time.NewTicker(time.Second)
	defer retry.Stop()
	for {
		var version, collation string
		err := db.QueryRowContext(ctx, "SELECT @@VERSION, CONVERT(NVARCHAR(128), SERVERPROPERTY('Collation'));").Scan(&version, &collation)
		if err == nil {
			line, _, _ := strings.Cut(version, "\n")
			fmt.Printf("%s; collation %s\n", line, collation)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w", err)
		case <-retry.C:
		}
	}
}

// check prints the events since a time and writes each to a file of a directory. It fails if there
// is an event.
func check(ctx context.Context, db *sql.DB, since time.Time, dir string) error {
	if err := sqlserver.Watched(ctx, db); err != nil {
		return err
	}
	select {
	case <-time.After(sqlserver.SettleSystemHealth):
	case <-ctx.Done():
		return ctx.Err()
	}
	list, err := sqlserver.Events(ctx, db, since)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	counts := map[string]int{}
	for i, e := range list {
		counts[e.Session+e.Kind]++
		path := filepath.Join(dir, fmt.Sprintf("%03d-%s-%s.xml", i+1, e.Session, e.Kind))
		if err := os.WriteFile(path, []byte(e.XML), 0o644); err != nil {
			return err
		}
		fmt.Printf("%s %s %s %s (%s)\n", e.At.Format(time.RFC3339), e.Session, e.Kind, e.Summary, path)
	}
	fmt.Printf("%d deadlocks in system_health, %d deadlocks and %d lock escalations in our session since %s\n", counts[sqlserver.SystemHealth+sqlserver.Deadlock],
		counts[sqlserver.Own+sqlserver.Deadlock], counts[sqlserver.Own+sqlserver.Escalation], since.Format(time.RFC3339))
	if err := sqlserver.Stop(ctx, db); err != nil {
		return err
	}
	if len(list) > 0 {
		return errors.New("there must be no deadlock and no lock escalation")
	}
	return nil
}
