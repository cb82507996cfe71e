//! Inventory, software queues, replay window and snapshot store over an abstract HSA runtime.
