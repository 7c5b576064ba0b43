// Package browser drives a headless Chromium: for tests of the dashboard, and for pictures of its
// pages. It collects what a browser reports as a problem: errors of the console, exceptions of
// scripts, violations of the Content-Security-Policy, and requests that failed.
//
// Chromium is Debian's package chromium; .ci/run installs it.
package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// ErrNoBrowser means that Chromium is not installed.
var ErrNoBrowser = errors.New("chromium is absent: install Debian's package chromium")

// stepTime bounds one step of a page, such as a click and what follows it.
const stepTime = 30 * time.Second

// Browser is a running Chromium.
type Browser struct {
	ctx   context.Context
	close []context.CancelFunc
}

// Start starts Chromium. The caller calls Close. The error is [ErrNoBrowser] where it is absent.
func Start(ctx context.Context) (*Browser, error) {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		return nil, ErrNoBrowser
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path),
		chromedp.NoSandbox,                               // Chromium refuses its sandbox to root
		chromedp.Flag("ignore-certificate-errors", true), // the front's certificate is its own
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true),
	)
	b := &Browser{}
	allocator, stop := chromedp.NewExecAllocator(ctx, options...)
	b.close = append(b.close, stop)
	var cancel context.CancelFunc
	// Chromium reports events that this version of the protocol does not know; they are no errors.
	b.ctx, cancel = chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {}))
	b.close = append(b.close, cancel)
	if err := chromedp.Do(b.ctx); err != nil {
		b.Close()
		return nil, fmt.Errorf("start chromium: %w", err)
	}
	return b, nil
}

// Open starts Chromium for a test, which closes it when it ends. Where Chromium is absent, the test
// is skipped, and in CI, which installs it, the test fails.
func Open(t testing.TB) *Browser {
	t.Helper()
	b, err := Start(t.Context())
	if errors.Is(err, ErrNoBrowser) && os.Getenv("CI") == "" {
		t.Skipf("the test looks at pages in a browser: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// Close ends Chromium.
func (b *Browser) Close() {
	for _, stop := range slices.Backward(b.close) {
		stop()
	}
}

// Options describe the device and the person of a page.
type Options struct {
	// Width and Height are the size of the window in CSS pixels. Default 1280 by 800.
	Width, Height int64
	// Dark prefers dark colours.
	Dark bool
	// Locale and TimeZone are those of the browser. Default en-US and UTC.
	Locale, TimeZone string
	// NoScript switches scripts off.
	NoScript bool
}

// Page is one tab, with cookies of its own. Its methods are not safe for concurrent use.
type Page struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex
	problems []string
	received int64
	events   map[string]int64
}

// Page opens a tab. The caller calls Close.
func (b *Browser) Page(o Options) (*Page, error) {
	p := &Page{events: map[string]int64{}}
	p.ctx, p.cancel = chromedp.NewContext(b.ctx,
		chromedp.WithNewBrowserContext(), chromedp.WithListener(p.note))
	if o.Width == 0 {
		o.Width, o.Height = 1280, 800
	}
	if o.Height == 0 {
		o.Height = 844
	}
	scheme := "light"
	if o.Dark {
		scheme = "dark"
	}
	if o.TimeZone == "" {
		o.TimeZone = "UTC"
	}
	if o.Locale == "" {
		o.Locale = "en-US"
	}
	err := chromedp.Do(p.ctx,
		chromedp.EmulateViewport(o.Width, o.Height),
		chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{
					{Name: "prefers-color-scheme", Value: scheme},
					{Name: "prefers-reduced-motion", Value: "reduce"}, // pictures do not depend on the instant
				},
			})
			if err != nil {
				return err
			}
			// A page without the focus of the system may lose keys and frames.
			if _, err = cdp.Call(ctx, t, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
				return err
			}
			if _, err = cdp.Call(ctx, t, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: o.TimeZone}); err != nil {
				return err
			}
			if o.NoScript {
				if _, err = cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
					return err
				}
			}
			_, err = cdp.Call(ctx, t, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: o.Locale})
			return err
		}))
	if err != nil {
		p.cancel()
		return nil, fmt.Errorf("open a tab: %w", err)
	}
	return p, nil
}

// Close closes the tab.
func (p *Page) Close() { p.cancel() }

// note records what the browser reports. It runs on the goroutine that reads the browser's
// messages.
func (p *Page) note(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			p.problems = append(p.problems, "console."+string(e.Type)+": "+text(e.Args))
		}
	case *runtime.EventExceptionThrown:
		description := e.ExceptionDetails.Text
		if o := e.ExceptionDetails.Exception; o != nil {
			description += " " + o.Description
		}
		p.problems = append(p.problems, "exception: "+description)
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			p.problems = append(p.problems, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *network.EventDataReceived:
		p.received += max(e.EncodedDataLength, e.DataLength)
	case *network.EventEventSourceMessageReceived:
		p.events[e.EventName] += int64(len(e.Data))
		p.received += int64(len(e.Data))
	}
}

// text joins the arguments of a call of the console.
func text(args []*runtime.RemoteObject) string {
	var parts []string
	for _, a := range args {
		if len(a.Value) > 0 {
			parts = append(parts, string(a.Value))
			continue
		}
		parts = append(parts, a.Description)
	}
	return strings.Join(parts, " ")
}

// Problems returns what the browser has reported, and forgets it.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.problems
	p.problems = nil
	return list
}

// Received returns the bytes of bodies and events since the last call.
func (p *Page) Received() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.received
	p.received = 0
	return n
}

// Events returns the bytes of the server-sent events by name since the last call.
func (p *Page) Events() map[string]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	events := p.events
	p.events = map[string]int64{}
	return events
}

// do carries out steps within the time of one step.
func (p *Page) do(what string, steps ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(p.ctx, stepTime)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Open loads a page and waits for it.
func (p *Page) Open(url string) error { return p.do("open "+url, chromedp.Navigate(url)) }

// Wait waits until an element that a CSS selector names is visible.
func (p *Page) Wait(selector string) error {
	return p.do("wait for "+selector, chromedp.WaitVisible(selector))
}

// Click clicks an element as soon as it is visible.
func (p *Page) Click(selector string) error {
	return p.do("click "+selector, chromedp.WaitVisible(selector), chromedp.Click(selector))
}

// Type types text into an element.
func (p *Page) Type(selector, text string) error {
	return p.do("type into "+selector, chromedp.WaitVisible(selector), chromedp.SendKeys(selector, text))
}

// Press types keys without an element, for shortcuts.
func (p *Page) Press(keys string) error { return p.do("press "+keys, chromedp.KeyEvent(keys)) }

// Eval evaluates an expression, waits for its promise if it is one, and decodes the result into
// dest, which may be nil.
func (p *Page) Eval(expression string, dest any) error {
	ctx, cancel := context.WithTimeout(p.ctx, stepTime)
	defer cancel()
	// The result travels as text, so that one type serves all.
	wrapped := "(async () => { const v = await (" + expression + "); return v === undefined ? 'null' : JSON.stringify(v) })()"
	result, err := chromedp.Run(ctx, chromedp.Evaluate[string](wrapped, chromedp.EvalAwaitPromise))
	if err != nil {
		return fmt.Errorf("evaluate %.80s: %w", expression, err)
	}
	if dest == nil {
		return nil
	}
	return json.Unmarshal([]byte(result), dest)
}

// Until waits until an expression is true.
func (p *Page) Until(expression string) error {
	for deadline := time.Now().Add(stepTime); ; {
		var ok bool
		if err := p.Eval("Boolean("+expression+")", &ok); err == nil && ok {
			return nil
		} else if time.Now().After(deadline) {
			return fmt.Errorf("wait until %.120s: %w", expression, errors.Join(err, context.DeadlineExceeded))
		}
		select {
		case <-p.ctx.Done():
			return context.Cause(p.ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Picture writes a PNG file of the whole page, at most 6,000 pixels high.
func (p *Page) Picture(file string) error {
	ctx, cancel := context.WithTimeout(p.ctx, stepTime)
	defer cancel()
	var size struct{ W, H float64 }
	if err := p.Eval("({W: document.documentElement.clientWidth, H: document.documentElement.scrollHeight})", &size); err != nil {
		return err
	}
	beyond := true
	res, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		CaptureBeyondViewport: &beyond, Clip: &page.Viewport{Width: size.W, Height: min(size.H, 6000), Scale: 1},
	})
	if err != nil {
		return fmt.Errorf("take a picture: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, res.Data, 0o644)
}

// FrameRate scrolls an element (CSS selector) or, if it is empty, the page by some pixels in each
// frame for the time, down and up again, and returns the frames per second and the longest frame.
func (p *Page) FrameRate(selector string, step int, d time.Duration) (fps float64, longest time.Duration, err error) {
	const script = `new Promise(done => {
	const element = %q ? document.querySelector(%q) : document.scrollingElement
	const step = %d, total = %d
	let direction = 1, frames = 0, longest = 0, first = 0, last = 0
	const frame = now => {
		if (!first) first = now; else { frames++; longest = Math.max(longest, now - last) }
		last = now
		const before = element.scrollTop
		element.scrollTop += direction * step
		if (element.scrollTop === before) direction = -direction
		if (now - first < total) requestAnimationFrame(frame)
		else done({FPS: frames * 1000 / (now - first), Longest: longest})
	}
	requestAnimationFrame(frame)
})`
	var res struct{ FPS, Longest float64 }
	err = p.Eval(fmt.Sprintf(script, selector, selector, step, d.Milliseconds()), &res)
	return res.FPS, time.Duration(res.Longest * float64(time.Millisecond)), err
}

// FirstPaint returns the time from the start of the navigation to the first contentful paint.
func (p *Page) FirstPaint() (time.Duration, error) {
	var ms float64
	err := p.Eval(`new Promise(done => new PerformanceObserver(list => {
	for (const e of list.getEntries()) if (e.name === 'first-contentful-paint') done(e.startTime)
}).observe({type: 'paint', buffered: true}))`, &ms)
	return time.Duration(ms * float64(time.Millisecond)), err
}

// SignIn signs in at the dashboard with a static token.
func (p *Page) SignIn(base, token string) error {
	if err := p.Open(base + "/ui/login"); err != nil {
		return err
	}
	if err := p.Type("input[name=token]", token); err != nil {
		return err
	}
	if err := p.Press("\r"); err != nil {
		return err
	}
	return p.Until("location.pathname !== '/ui/login' && document.readyState === 'complete'")
}
