package mssql_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// This example runs a script on one target, the embedded server. For a real server, leave Dialer
// and Encrypt out of the configuration: connections go over TCP, and are encrypted and verified.
func ExampleRunner_Run() {
	ctx := context.Background()
	server, err := tsqld.New(tsqld.Config{SAPassword: "secret"})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close(ctx)

	credentials, err := mssql.NewCredentialSet(
		mssql.LoginCredential(targets.DefaultCredential, "sa", "secret", "*.example.com"))
	if err != nil {
		log.Fatal(err)
	}
	servers, err := mssql.NewServers(mssql.Config{Credentials: credentials, Dialer: server.Dialer(), Encrypt: "disable"})
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()

	runner := mssql.NewRunner(servers, targets.Limits{})
	for _, script := range []string{
		"CREATE TABLE #numbers (n INT);\nINSERT INTO #numbers VALUES (1), (2);\nGO\nPRINT N'done';",
		"PRINT N'before';\nGO\nSELECT 1 / 0;\nPRINT N'after';",
	} {
		result := runner.Run(ctx, mssql.Attempt{Attempt: targets.Attempt{
			Target: targets.NewTarget("db1.example.com", "master", ""), Command: script,
		}})
		fmt.Println(strings.TrimSpace(string(result.Outcome) + " " + result.Summary))
		for _, m := range result.Messages {
			fmt.Println(" ", m.Kind, m.Text, m.Rows)
		}
	}
	// Output:
	// Succeeded
	//   Rows  2
	//   Info done 0
	// Failed Msg 8134, Level 16, State 1, Line 3: Divide by zero error encountered.
	//   Info before 0
	//   Error Divide by zero error encountered. 0
	//   Info after 0
}

// A class says whether a retry may help, and who should act.
func ExampleClassify() {
	for _, err := range []error{
		mssqldb.Error{Number: 1205, Message: "Transaction was deadlocked."},
		mssqldb.Error{Number: 18456, Message: "Login failed for user 'jobuser'."},
		&targets.ConfigError{Subject: `credential "x"`, Err: errors.New("the user is missing")},
		fmt.Errorf("run: %w", targets.ErrTimeout),
	} {
		c := mssql.Classify(err)
		fmt.Println(c.Class.Retryable(), c)
	}
	// Output:
	// true Deadlock (1205): chosen as the victim of a deadlock
	// false Auth (18456): the login was refused: unknown, disabled, a wrong password, or no access
	// false Config: the agent's configuration does not allow it
	// true Timeout: the step's time limit passed
}
