package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/chromedp/chromedp"

	"github.com/jobagent/jobagent/testenv/npm"
)

// ErrNoAxe means that axe-core is not installed.
var ErrNoAxe = errors.New("the npm package axe-core is absent: run bash .ci/npm")

// axeScript returns the text of axe-core, which .ci/npm installs.
func axeScript() (string, error) {
	text, err := os.ReadFile(npm.Path("axe-core", "axe.min.js"))
	if err != nil {
		return "", ErrNoAxe
	}
	return string(text), nil
}

// Finding is a rule of axe-core that a page breaks.
type Finding struct {
	ID, Impact, Help string
	// Nodes are the elements, by selector and reason.
	Nodes []string
}

// String returns the finding on several lines.
func (f Finding) String() string {
	return fmt.Sprintf("%s (%s): %s\n  %s", f.ID, f.Impact, f.Help, strings.Join(f.Nodes, "\n  "))
}

// Axe checks the page by axe-core's rules for WCAG 2.2 A and AA and its best practices.
func (p *Page) Axe() ([]Finding, error) {
	script, err := axeScript()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(p.ctx, stepTime)
	defer cancel()
	// The driver's evaluation is not subject to the Content-Security-Policy of the page.
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](script+"\n;true")); err != nil {
		return nil, fmt.Errorf("load axe-core: %w", err)
	}
	var list []Finding
	err = p.Eval(`axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})
	.then(r => r.violations.map(v => ({ID: v.id, Impact: v.impact, Help: v.help,
		Nodes: v.nodes.slice(0, 10).map(n => n.target.join(' ') + ': ' + n.failureSummary.replace(/\s+/g, ' '))})))`, &list)
	return list, err
}
