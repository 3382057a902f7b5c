package server

import (
	"log/slog"
	"sync"
	"time"

	"integrationhub/hub/config"
)

// localCheck is how often a hub looks whether its local.json is still there.
const localCheck = time.Second

// localKeeper keeps the file by which commands on this machine find the hub. Where several hubs
// have one data directory, the newest is found; when it stops, another one that still runs.
type localKeeper struct {
	dir   string
	local config.Local
	log   *slog.Logger
	quit  chan struct{}
	ended sync.WaitGroup
}

// keepLocal writes the file, and again when it is missing. The caller calls stop.
func keepLocal(dir string, local config.Local, log *slog.Logger) (*localKeeper, error) {
	if err := config.WriteLocal(dir, local); err != nil {
		return nil, err
	}
	k := &localKeeper{dir: dir, local: local, log: log, quit: make(chan struct{})}
	k.ended.Go(k.run)
	return k, nil
}

func (k *localKeeper) run() {
	tick := time.NewTicker(localCheck)
	defer tick.Stop()
	isKept := true
	for {
		select {
		case <-k.quit:
			return
		case <-tick.C:
		}
		err := config.RestoreLocal(k.dir, k.local)
		if err != nil && isKept { // said once: a disk may be full for long
			k.log.Warn("writing local.json again failed", "error", err)
		}
		isKept = err == nil
	}
}

// stop removes the file if it is this hub's.
func (k *localKeeper) stop() {
	close(k.quit)
	k.ended.Wait()
	if err := config.RemoveLocal(k.dir, k.local); err != nil {
		k.log.Warn("removing local.json failed", "error", err)
	}
}
