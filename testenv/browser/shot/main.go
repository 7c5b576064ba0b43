// Command shot takes pictures of pages of a running dashboard, and lists what the browser and
// axe-core find wrong with them. It is a tool for people who work on the pages.
//
//	go run ./testenv/browser/shot -base https://127.0.0.1:8443 -token-file DATA/rest-token -out /tmp/p /ui/ /ui/main/jobs
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jobagent/jobagent/testenv/browser"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "shot:", err)
		os.Exit(1)
	}
}

// run takes the pictures that the command line asks for.
func run() error {
	base := flag.String("base", "https://127.0.0.1:8443", "address of the front")
	tokenFile := flag.String("token-file", "", "file with a static token to sign in with; empty: do not sign in")
	out := flag.String("out", ".", "folder of the pictures")
	widths := flag.String("widths", "1280,390", "widths in CSS pixels")
	schemes := flag.String("schemes", "light,dark", "light, dark or both")
	wait := flag.Duration("wait", 500*time.Millisecond, "time from loading to the picture")
	axe := flag.Bool("axe", true, "check the pages with axe-core")
	script := flag.String("eval", "", "JavaScript expression to evaluate before the picture; its value is printed")
	zone := flag.String("zone", "UTC", "time zone of the browser")
	locale := flag.String("locale", "en-US", "locale of the browser")
	flag.Parse()
	if flag.NArg() == 0 {
		return errors.New("no pages: want paths such as /ui/")
	}
	b, err := browser.Start(context.Background())
	if err != nil {
		return err
	}
	defer b.Close()
	for width := range strings.SplitSeq(*widths, ",") {
		for scheme := range strings.SplitSeq(*schemes, ",") {
			var w int64
			if _, err := fmt.Sscan(width, &w); err != nil {
				return fmt.Errorf("invalid width %q: want a number", width)
			}
			p, err := b.Page(browser.Options{Width: w, Height: 900, Dark: scheme == "dark", TimeZone: *zone, Locale: *locale})
			if err != nil {
				return err
			}
			if *tokenFile != "" {
				token, err := os.ReadFile(*tokenFile)
				if err != nil {
					return err
				}
				if err := p.SignIn(*base, strings.TrimSpace(string(token))); err != nil {
					return err
				}
			}
			for _, path := range flag.Args() {
				if err := p.Open(*base + path); err != nil {
					return err
				}
				time.Sleep(*wait)
				if *script != "" {
					var v any
					if err := p.Eval(*script, &v); err != nil {
						return err
					}
					fmt.Println(v)
					time.Sleep(*wait)
				}
				name := strings.Trim(strings.NewReplacer("/", "_", "?", "_", "=", "_", "%", "_", "&", "_").Replace(path), "_")
				file := filepath.Join(*out, fmt.Sprintf("%s-%s-%s.png", name, width, scheme))
				if err := p.Picture(file); err != nil {
					return err
				}
				fmt.Println(file)
				var overflow bool
				if err := p.Eval("document.documentElement.scrollWidth > document.documentElement.clientWidth", &overflow); err == nil && overflow {
					fmt.Println("  the page is wider than the window")
				}
				for _, problem := range p.Problems() {
					fmt.Println("  problem:", problem)
				}
				if *axe {
					findings, err := p.Axe()
					if err != nil {
						return err
					}
					for _, f := range findings {
						fmt.Println(" ", f)
					}
				}
			}
			p.Close()
		}
	}
	return nil
}
