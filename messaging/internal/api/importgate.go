package api

import (
	"context"
	"sync"
)

// filesAtOnce is how many files of contacts a process reads at once: one of 16 MiB has up to a
// million rows, which take some 200 MiB.
const filesAtOnce = 2

// importGate bounds how many files of contacts are being read: one of each company, so that a
// company that sends many leaves a place to others.
type importGate struct {
	all       chan struct{} // holds one value for each file
	mu        sync.Mutex
	companies map[int64]*companyGate
}

// companyGate is that of one company.
type companyGate struct {
	taken chan struct{}
	users int // files that are being read, or wait
}

func newImportGate() *importGate {
	return &importGate{all: make(chan struct{}, filesAtOnce), companies: make(map[int64]*companyGate)}
}

// enter waits until a company may read a file; leave ends that. The error is that of the context.
func (g *importGate) enter(ctx context.Context, company int64) (leave func(), err error) {
	own := g.acquire(company)
	select {
	case own.taken <- struct{}{}:
	case <-ctx.Done():
		g.release(company)
		return nil, ctx.Err()
	}
	leaveOwn := func() { <-own.taken; g.release(company) }
	select {
	case g.all <- struct{}{}:
		return func() { <-g.all; leaveOwn() }, nil
	case <-ctx.Done():
		leaveOwn()
		return nil, ctx.Err()
	}
}

func (g *importGate) acquire(company int64) *companyGate {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := g.companies[company]
	if own == nil {
		own = &companyGate{taken: make(chan struct{}, 1)}
		g.companies[company] = own
	}
	own.users++
	return own
}

func (g *importGate) release(company int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := g.companies[company]
	if own.users--; own.users == 0 {
		delete(g.companies, company)
	}
}
