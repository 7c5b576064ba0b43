package parser

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/sqlprinter"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// BenchmarkOwnSQL reads, prints and walks all SQL of the product.
func BenchmarkOwnSQL(b *testing.B) {
	batches := ownBatches(b)
	trees := make([]*syntax.Batch, len(batches))
	parse := func() {
		for i, src := range batches {
			var err error
			trees[i], err = Parse(src, DefaultOptions)
			require.NoError(b, err)
		}
	}
	parse()
	b.Run("Parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			parse()
		}
	})
	b.Run("Print", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, t := range trees {
				sqlprinter.Print(t)
			}
		}
	})
	b.Run("Walk", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, t := range trees {
				syntax.Inspect(t, func(syntax.Node) bool { return true })
			}
		}
	})
}
