package cli

import (
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

// ShapesOf returns the shapes that a command and the groups above it declare.
func ShapesOf(args []string) (shapes []output.Shape) {
	app := connect.New(nil, nil, nil)
	cmd, _, err := newRootCommand(app).Find(args)
	cobra.CheckErr(err)
	for ; cmd != nil; cmd = cmd.Parent() {
		shapes = append(shapes, app.Shapes(cmd)...)
	}
	return shapes
}
