package about

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

// NewOutputTopic returns the help topic `jobagent help output`, with the JSON of all commands below
// root.
func NewOutputTopic(p *output.Printer, root *cobra.Command) *cobra.Command {
	const title = "Commands:\n"
	var b strings.Builder
	b.WriteString(title)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		for _, s := range p.Shapes(cmd) {
			name := strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), root.Name()+" ") + " " + s.Words)
			fmt.Fprintf(&b, "  %-38s  %s\n", name, s.TypeName())
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return &cobra.Command{
		Use: "output", Short: "The formats of -o, the flags of lists, and the JSON of each command",
		Long: strings.Replace(output.ShapesText, title, b.String(), 1),
	}
}
