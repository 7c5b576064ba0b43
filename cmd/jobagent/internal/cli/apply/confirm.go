package apply

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
)

// confirm asks on a terminal; elsewhere --yes is needed.
func confirm(_ context.Context, a *connect.App, yes bool) error {
	if yes {
		return nil
	}
	if !terminal.IsInput(a.Stdin) {
		return exit.Usagef("give --yes to delete them: standard input is not a terminal, and nothing was changed")
	}
	fmt.Fprint(a.Stderr, "Delete them? Type yes: ")
	line, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "yes" {
		return exit.Usagef("not confirmed: nothing was changed")
	}
	return nil
}
