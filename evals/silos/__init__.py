"""What becomes of a society of peers: silos, their stability and entropy, and the page that shows them.

maieutic society configs/mirroring.yaml
"""
