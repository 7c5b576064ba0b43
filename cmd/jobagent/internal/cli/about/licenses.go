package about

import (
	_ "embed"
	"io"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

// thirdPartyNotices holds the licences of Go and of all modules that the program links. The BSD,
// MIT and Apache 2.0 licences require their texts in binary distributions. TestThirdPartyNotices
// generates the file and compares it with the modules.
//
//go:embed THIRD_PARTY_NOTICES
var thirdPartyNotices string

// NewLicensesCommand returns `jobagent licenses`.
func NewLicensesCommand(p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use: "licenses", Short: "Print the licences of the software that this program contains", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(p.Stdout, thirdPartyNotices)
			return err
		},
	}
}
