//! `rayq serve`: a scene live in the browser.

use super::signals::Signals;
use super::work;
use crate::error::{Error, Result};
use crate::serve::Server;
use std::net::SocketAddr;
use std::sync::Arc;

/// Arguments of `rayq serve`.
#[derive(Debug, clap::Args)]
#[command(args_override_self = true)]
pub struct Args {
    #[command(flatten)]
    work: work::Args,
    /// Where to listen; port 0 takes any that is free
    #[arg(long, default_value = "127.0.0.1:8400", value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Another name that browsers may call this machine by; may be given more than once
    #[arg(long, value_name = "HOST")]
    name: Vec<String>,
}

/// Serves until a signal ends it.
pub fn run(args: Args) -> Result<()> {
    let signals = Signals::install()?;
    let server = Server::bind(args.listen, args.name)?;
    let session = Arc::new(args.work.start_session()?);
    let address = server.address();
    if !address.ip().is_loopback() {
        super::complain(&format!(
            "listening on {address}: whoever reaches this address and knows the token can watch and steer, and \
             the connection is not encrypted; 127.0.0.1 and a tunnel are safer"
        ));
    }
    super::print(&format!("{}\n", server.url()))?;
    server.run(session, || signals.received().is_some())?;
    signals.received().map_or(Ok(()), |signal| Err(Error::Interrupted(signal)))
}
