package about

import (
	_ "embed"
	"io"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
)

// thirdPartyNotices holds the licences of all modules that the binary links, and of Go itself. BSD, MIT and Apache 2.0 ask
// binaries to carry their texts. licenses_test.go generates the file, and compares it with the modules.
//
//go:embed THIRD_PARTY_NOTICES
var thirdPartyNotices string

// NewLicensesCommand makes `jobagent licenses`.
func NewLicensesCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "licenses", Short: "Print the licences of the software that this binary contains", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(a.Stdout, thirdPartyNotices)
			return err
		},
	}
}
